package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/ringaudit/ringaudit/citations"
)

// CiteSchema names the form of [CiteDocument]. Within v1 changes only add.
const CiteSchema = "ringaudit.cite/v1"

// CiteDocument is the result of one run of the citation gate. The same input
// gives the same bytes.
type CiteDocument struct {
	Schema  string `json:"schema"`
	Tool    string `json:"tool"` // "ringaudit 0.1.0"
	Outcome string `json:"outcome" jsonschema:"enum=ok,enum=broken,enum=undecided,enum=unreadable"`
	// Exit is the exit code of the run, the same in every format.
	Exit      int                 `json:"exit"`
	Counts    citations.Counts    `json:"counts"`
	Trees     []CiteTree          `json:"trees"`
	Documents []CiteSet           `json:"documents"`
	Problems  []citations.Problem `json:"problems"`
	// Wrote are the files that the run wrote (--fix).
	Wrote []string `json:"wrote,omitempty"`

	pins *citations.Pins // templates of permalinks; may be nil
}

// CiteTree is one kernel tree of the run.
type CiteTree struct {
	Tree    string `json:"tree"` // as given
	Kind    string `json:"kind,omitempty"`
	Version string `json:"version,omitempty"`
	SHA256  string `json:"sha256,omitempty"` // of an archive
	Commit  string `json:"commit,omitempty"` // of a git tree
	// Error is why it could not be used, empty if it was.
	Error string `json:"error,omitempty"`
}

// CiteSet is one document and its records.
type CiteSet struct {
	Document string           `json:"document"` // the Markdown, empty if there is none
	Refs     string           `json:"refs"`
	Lock     string           `json:"lock,omitempty"`
	Counts   citations.Counts `json:"counts"`
	Records  []CiteRecord     `json:"records"`
}

// CiteRecord is one reference or assertion.
type CiteRecord struct {
	ID       string        `json:"id"`
	Kind     string        `json:"kind"` // reference, or the kind of the assertion
	Findings []CiteFinding `json:"findings"`
}

// CiteFinding is what a record came to in one version.
type CiteFinding struct {
	Version string            `json:"version,omitempty"`
	State   citations.State   `json:"state"`
	Places  []citations.Place `json:"places,omitempty"`
	Context string            `json:"context,omitempty"`
	URL     string            `json:"url,omitempty"` // permalink to the first place
}

// NewCite makes the document of a run. pins, which may be nil, hold the
// templates of permalinks.
func NewCite(version string, r *citations.Result, pins *citations.Pins, exit int) *CiteDocument {
	d := &CiteDocument{Schema: CiteSchema, Tool: "ringaudit " + version, Exit: exit, Counts: r.Counts,
		Trees: []CiteTree{}, Documents: []CiteSet{}, Problems: orEmpty(r.Problems), pins: pins}
	d.Outcome = map[citations.Outcome]string{citations.Passed: "ok", citations.Broken: "broken",
		citations.Undecided: "undecided", citations.Unreadable: "unreadable"}[r.Outcome()]
	for _, t := range r.Trees {
		x := CiteTree{Tree: t.Spec, Kind: t.Kind, Version: t.Version.String(), SHA256: t.SHA256, Commit: t.Commit}
		if t.Err() != nil {
			x.Error = t.Err().Error()
		}
		d.Trees = append(d.Trees, x)
	}
	for _, s := range r.Sets {
		x := CiteSet{Document: s.Set.Document, Refs: s.Set.Path, Counts: s.Counts, Records: []CiteRecord{}}
		if s.Lock != nil {
			x.Lock = s.Set.LockPath
		}
		for _, rec := range s.Records {
			y := CiteRecord{ID: rec.Record.RecordID(), Kind: "reference", Findings: []CiteFinding{}}
			if a, ok := rec.Record.(*citations.Assertion); ok {
				y.Kind = a.Kind
			}
			for _, f := range rec.Findings {
				z := CiteFinding{Version: f.Tree.Version.String(), State: f.State, Places: f.Places, Context: f.Entry.Context}
				if len(f.Places) > 0 {
					z.URL = pins.Link(z.Version, f.Places[0].File, f.Places[0].Line)
				}
				y.Findings = append(y.Findings, z)
			}
			x.Records = append(x.Records, y)
		}
		d.Documents = append(d.Documents, x)
	}
	return d
}

// CiteFormat is one way to write a [CiteDocument].
type CiteFormat struct {
	Name, Doc string
	Render    func(w io.Writer, d *CiteDocument, o Options) error
}

var citeFormats = []CiteFormat{
	{"text", "one line for each problem, path:line:col: state: message, with what to do", renderCiteText},
	{"json", "the canonical form, " + CiteSchema, renderCiteJSON},
	{"sarif", "SARIF 2.1.0, for code scanning", func(w io.Writer, d *CiteDocument, _ Options) error { return WriteSARIF(w, d.problems()) }},
	{"junit", "JUnit XML: a test for each record in each version", func(w io.Writer, d *CiteDocument, _ Options) error { return WriteJUnit(w, d.problems()) }},
	{"github", "annotations of a GitHub workflow", func(w io.Writer, d *CiteDocument, _ Options) error { return WriteGitHub(w, d.problems()) }},
	{"markdown", "for the summary of a workflow step or an issue", renderCiteMarkdown},
}

// CiteFormats lists the formats of the citation gate.
func CiteFormats() []CiteFormat { return append([]CiteFormat(nil), citeFormats...) }

func renderCiteJSON(w io.Writer, d *CiteDocument, _ Options) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(d)
}

// problems is the document in the form that sarif, junit and github share.
func (d *CiteDocument) problems() *Problems {
	p := &Problems{Version: strings.TrimPrefix(d.Tool, "ringaudit "), Verb: "cite check", Exit: d.Exit, Complete: d.Counts.Checked > 0}
	for _, s := range citations.StateDocs {
		help := s.Means
		if s.Do != "" {
			help += " " + s.Do
		}
		p.Rules = append(p.Rules, ProblemRule{ID: "cite/" + string(s.State), Title: firstSentence(s.Means), Help: help,
			Severity: string(s.State.Severity()), URL: homeURL + "/blob/main/docs/citations.md#states"})
	}
	suites := make(map[string]string) // path of refs or document → suite
	for _, s := range d.Documents {
		name := s.Document
		if name == "" {
			name = s.Refs
		}
		suites[s.Refs], suites[s.Document], suites[s.Lock] = name, name, name
		for _, r := range s.Records {
			for _, f := range r.Findings {
				c := ProblemCase{Suite: name, Name: caseName(r.ID, f.Version)}
				if f.State == citations.NotInRange {
					c.Skipped = "not in range"
				}
				if f.Version != "" {
					p.Cases = append(p.Cases, c)
				}
			}
		}
	}
	for _, x := range d.Problems {
		y := Problem{Rule: "cite/" + string(x.State), Severity: string(x.Severity), Message: citeMessage(x), Action: x.Proposal,
			Path: x.At.File, Line: x.At.Line, Col: x.At.Col, Fingerprint: x.Fingerprint, Suppressed: x.Excused, Suite: suites[x.At.File]}
		if x.ID != "" && x.Version != "" {
			y.Case = caseName(x.ID, x.Version)
		} else if x.ID != "" {
			y.Case = string(x.State) + " " + x.ID
		}
		for _, q := range x.Related {
			base := ""
			if q.Version != "" {
				base = "linux-" + q.Version
			}
			y.Related = append(y.Related, ProblemPlace{Base: base, Path: q.File, Line: q.Line, Col: q.Col, Message: strings.TrimSpace(q.Symbol + "  " + q.Text),
				URL: d.link(q)})
		}
		p.List = append(p.List, y)
	}
	return p
}

// link is the permalink of a place in a tree, empty for one in a document.
func (d *CiteDocument) link(q citations.Place) string {
	if q.Version == "" {
		return ""
	}
	return d.pins.Link(q.Version, q.File, q.Line)
}

func caseName(id, version string) string { return strings.TrimSpace(id + " in " + version) }

func citeMessage(x citations.Problem) string {
	if x.ID != "" {
		return x.ID + ": " + x.Message
	}
	return x.Message
}

func firstSentence(s string) string {
	if i := strings.Index(s, ". "); i > 0 {
		return s[:i+1]
	}
	return s
}

// renderCiteText writes problems as compilers do, so that editors jump to them,
// and then what was checked. Notes are shown with All alone.
func renderCiteText(w io.Writer, d *CiteDocument, o Options) error {
	var b strings.Builder
	notes, excused := 0, 0
	for _, x := range d.Problems {
		switch {
		case x.Excused != "" && !o.All:
			excused++
			continue
		case x.Severity == citations.Note && !o.All:
			notes++
			continue
		}
		fmt.Fprintf(&b, "%s: %s: %s\n", x.At, o.paint(string(x.State), x), clean(citeMessage(x)))
		for i, q := range x.Related {
			if i == 6 && !o.All {
				fmt.Fprintf(&b, "      and %d more places\n", len(x.Related)-i)
				break
			}
			fmt.Fprintf(&b, "      %s\n", clean(treePlace(q)))
		}
		for line := range strings.Lines(x.Proposal) {
			fmt.Fprintf(&b, "    %s\n", cleanKeep(strings.TrimRight(line, "\n")))
		}
		if x.Excused != "" {
			fmt.Fprintf(&b, "    in the baseline: %s\n", clean(x.Excused))
		}
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	for _, f := range d.Wrote {
		fmt.Fprintf(&b, "wrote %s\n", f)
	}
	for _, t := range d.Trees {
		if t.Error == "" {
			fmt.Fprintf(&b, "tree %-10s %s (%s)\n", t.Version, t.Tree, t.Kind)
		}
	}
	for _, s := range d.Documents {
		name := s.Document
		if name == "" {
			name = s.Refs
		}
		fmt.Fprintf(&b, "%s: %s\n", name, s.Counts)
	}
	if len(d.Documents) != 1 {
		fmt.Fprintf(&b, "all: %s\n", d.Counts)
	}
	errors, warnings := d.weigh()
	switch d.Outcome {
	case "ok":
		fmt.Fprintf(&b, "ok: every citation holds")
	case "broken":
		fmt.Fprintf(&b, "broken: %s", countOf(errors, "error"))
	case "undecided":
		fmt.Fprintf(&b, "undecided: something could not be told")
	case "unreadable":
		fmt.Fprintf(&b, "unreadable: no tree could be read")
	}
	for _, n := range []struct {
		n    int
		what string
	}{{warnings, "warning"}, {notes, "note"}} {
		if n.n > 0 {
			fmt.Fprintf(&b, ", %s", countOf(n.n, n.what))
		}
	}
	if excused > 0 {
		fmt.Fprintf(&b, ", %d in the baseline", excused)
	}
	if notes+excused > 0 {
		b.WriteString(" (--all shows them)")
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

// countOf is "1 error", "2 errors", with a plain space, so that scripts find it.
func countOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (d *CiteDocument) weigh() (errors, warnings int) {
	for _, x := range d.Problems {
		switch {
		case x.Excused != "":
		case x.Severity == citations.Error:
			errors++
		case x.Severity == citations.Warning:
			warnings++
		}
	}
	return errors, warnings
}

// treePlace is a place in a tree: "7.2.13 kernel/trace/trace.c:12 symbol  text".
func treePlace(q citations.Place) string {
	s := q.String()
	if q.Version != "" {
		s = q.Version + " " + s
	}
	if q.Symbol != "" {
		s += " " + q.Symbol
	}
	if q.Text != "" {
		s += "  " + q.Text
	}
	return s
}

func (o Options) paint(s string, x citations.Problem) string {
	if !o.Color {
		return s
	}
	code := "31" // red
	switch {
	case x.Excused != "" || x.Severity == citations.Note:
		code = "2"
	case x.Severity == citations.Warning:
		code = "33"
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// renderCiteMarkdown writes a summary that reads well on GitHub.
func renderCiteMarkdown(w io.Writer, d *CiteDocument, o Options) error {
	var b strings.Builder
	errors, warnings := d.weigh()
	fmt.Fprintf(&b, "## Citations: %s\n\n%s checked, %d skipped, %d unparsed, %d unresolved, %d in total · %s · %s\n",
		d.Outcome, group(uint64(d.Counts.Checked)), d.Counts.Skipped, d.Counts.Unparsed, d.Counts.Unresolved, d.Counts.Total,
		countOf(errors, "error"), countOf(warnings, "warning"))
	if len(d.Documents) > 0 {
		b.WriteString("\n| document | checked | skipped | unparsed | unresolved | total |\n|---|--:|--:|--:|--:|--:|\n")
	}
	for _, s := range d.Documents {
		name := s.Document
		if name == "" {
			name = s.Refs
		}
		c := s.Counts
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d |\n", mdText(name), c.Checked, c.Skipped, c.Unparsed, c.Unresolved, c.Total)
	}
	if len(d.Trees) > 0 {
		b.WriteString("\nTrees: ")
		for i, t := range d.Trees {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(mdText(strings.TrimSpace(t.Version + " (" + t.Kind + ")")))
		}
		b.WriteString("\n")
	}
	const most = 200
	shown := 0
	for _, x := range d.Problems {
		if x.Severity == citations.Note && !o.All || x.Excused != "" && !o.All {
			continue
		}
		if shown++; shown > most && !o.All {
			continue
		}
		fmt.Fprintf(&b, "\n**%s** %s — %s\n", x.State, mdCode(x.At.String()), mdText(citeMessage(x)))
		for i, q := range x.Related {
			if i == 5 {
				break
			}
			link := mdCode(fmt.Sprintf("%s:%d", q.File, q.Line))
			if q.Version != "" {
				link = fmt.Sprintf("%s [%s](%s)", q.Version, link, d.link(q))
			}
			fmt.Fprintf(&b, "- %s %s\n", link, mdCodeOrNothing(q.Text))
		}
		if x.Proposal != "" {
			fmt.Fprintf(&b, "\n%s\n%s\n%s\n", "~~~diff", strings.ReplaceAll(x.Proposal, "~~~", "~ ~ ~"), "~~~")
		}
	}
	if shown > most && !o.All {
		fmt.Fprintf(&b, "\nand %d more.\n", shown-most)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func mdCodeOrNothing(s string) string {
	if s == "" {
		return ""
	}
	return mdCode(s)
}
