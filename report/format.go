package report

import (
	"fmt"
	"io"
	"strings"
)

// Options is what a format may be told. The zero value suits a file: no
// colour, [DefaultWidth] columns, Unicode, and long lists cut where a reader
// would stop reading.
type Options struct {
	// Color uses terminal colour codes. Whoever calls has decided: a format
	// never looks at a terminal or at the environment.
	Color bool
	// Width is the number of columns that text may use; 0 is [DefaultWidth].
	Width int
	// ASCII keeps to 7-bit characters in what the format itself says.
	ASCII bool
	// All shows every CPU, finding and piece of evidence. Without it the
	// formats for people show the worst and say how many they left out.
	All bool
	// Picture is where the svg format of the same document was written, as a
	// link from the place of this output. Only markdown uses it.
	Picture string
	// Link finds where on the web a citation of a finding leads ("" where it is
	// not known): a permalink to the line of the kernel. Where it is nil,
	// citations are plain. Used by html, markdown and sarif.
	Link func(id string) string
}

// link is the web address of a citation, empty if there is none.
func (o Options) link(id string) string {
	if o.Link == nil {
		return ""
	}
	if u := o.Link(id); strings.HasPrefix(u, "https://") {
		return u
	}
	return ""
}

// DefaultWidth is the width of text where nobody said otherwise, in columns.
const DefaultWidth = 100

// minWidth keeps tables and wrapped prose legible on absurdly narrow terminals.
const minWidth = 40

func (o Options) width() int {
	if o.Width == 0 {
		return DefaultWidth
	}
	return max(o.Width, minWidth)
}

// Format is one way to write a [Document].
type Format struct {
	Name string
	// Doc says in one line what the format is for.
	Doc string
	// Ext is the usual ending of a file of this format, with the dot.
	Ext string
	// Render writes d to w. The only errors are those of w. The same document
	// and options give the same bytes.
	Render func(w io.Writer, d *Document, o Options) error
}

// formats are in the order in which help lists them.
var formats = []Format{
	{"text", "a report for a person at a terminal", ".txt", renderText},
	{"json", "the canonical form, " + Schema + "; every other format is made from it", ".json", renderJSON},
	{"jsonl", "the same in lines, one object each, for programs that read line by line", ".jsonl", renderJSONL},
	{"prometheus", "series for the textfile collector of node_exporter", ".prom", renderPrometheus},
	{"markdown", "for a file, an issue or the summary of a workflow step on GitHub", ".md", renderMarkdown},
	{"html", "one self-contained page: verdict, tables, loss over time with zoom, findings, blind spots", ".html", renderHTML},
	{"svg", "the picture of loss over time: one lane per CPU, holes to scale", ".svg", renderSVG},
	{"sarif", "SARIF 2.1.0, for code scanning", ".sarif", renderSARIF},
	{"junit", "JUnit XML, for test reports: a case for each rule and buffer", ".junit.xml", renderJUnit},
	{"github", "workflow commands, which GitHub Actions shows as annotations", ".github.txt", renderGitHub},
}

// Formats lists all formats. The list feeds flags, completion and documentation.
func Formats() []Format { return append([]Format(nil), formats...) }

// FormatNames is the names of [Formats], in their order.
func FormatNames() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.Name
	}
	return names
}

// Lookup finds a format by its name. The error lists the names there are.
func Lookup(name string) (Format, error) {
	for _, f := range formats {
		if f.Name == name {
			return f, nil
		}
	}
	return Format{}, fmt.Errorf("no format %q; the formats are %s", name, strings.Join(FormatNames(), ", "))
}
