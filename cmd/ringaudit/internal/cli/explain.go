package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ringaudit/ringaudit/audit"
	"github.com/ringaudit/ringaudit/blueprints"
	"github.com/ringaudit/ringaudit/citations"
)

// explainOptions is the command line of explain.
type explainOptions struct {
	Topics  []string
	formats formatFlags
}

func newExplainCmd(env *Env) *cobra.Command {
	var opt explainOptions
	cmd := &cobra.Command{
		Use:   "explain [RULE | BLIND-SPOT | blind-spots | all]…",
		Short: "Say what a finding means, what to do about it, and which kernel source shows it",
		Long: `Explain prints the documentation of rules: the kinds of findings that audit has.
Without an argument it lists them. blind-spots explains the kinds of loss that some
evidence cannot show.`,
		Example: "  ringaudit explain overwritten-events\n  ringaudit explain blind-spots",
		RunE: func(_ *cobra.Command, args []string) error {
			opt.Topics = args
			return runExplain(env, opt)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			topics := []string{"blind-spots\tkinds of loss that some evidence cannot show", "all\tevery rule"}
			for _, r := range audit.Rules() {
				topics = append(topics, r.ID+"\t"+r.Title)
			}
			return topics, cobra.ShellCompDirectiveNoFileComp
		},
	}
	opt.formats.add(cmd, []formatChoice{{"text", "for a person"}, {"json", "the rules as values"}, {"markdown", "a page of documentation"}})
	return cmd
}

// explanation is what explain prints of a topic.
type explanation struct {
	ID        string              `json:"id"`
	Group     string              `json:"group"`
	Title     string              `json:"title"`
	Severity  string              `json:"severity,omitempty"`
	Text      string              `json:"text"`
	Remedy    string              `json:"remedy,omitempty"`
	Citations []explainedCitation `json:"citations"`
}

// explainedCitation is a reference of a blueprint with its places in the kernel.
type explainedCitation struct {
	ID    string            `json:"id"`
	Note  string            `json:"note,omitempty"`
	Where string            `json:"where,omitempty"`
	Links map[string]string `json:"links,omitempty"` // kernel version → permalink
}

func runExplain(env *Env, opt explainOptions) error {
	outs, err := opt.formats.outputs()
	if err != nil {
		return err
	}
	topics, err := explainTopics(opt.Topics)
	if err != nil {
		return err
	}
	return env.write(outs, func(w io.Writer, o output) error {
		switch {
		case o.Format == "json":
			enc := json.NewEncoder(w)
			enc.SetIndent("", "  ")
			enc.SetEscapeHTML(false)
			return enc.Encode(topics)
		case o.Format == "markdown":
			return explainMarkdown(w, topics)
		case len(opt.Topics) == 0:
			return explainList(w, topics)
		}
		return explainText(w, topics)
	})
}

// explainTopics finds the topics; none is all of them.
func explainTopics(names []string) ([]explanation, error) {
	var out []explanation
	add := func(r *audit.Rule) {
		out = append(out, explanation{ID: r.ID, Group: string(r.Group), Title: r.Title, Severity: string(r.Severity), Text: r.Text, Remedy: r.Remedy, Citations: citationsOf(r.Citations)})
	}
	if len(names) == 0 {
		names = []string{"all"}
	}
	for _, name := range names {
		switch name {
		case "all":
			for _, r := range audit.Rules() {
				add(r)
			}
			continue
		case "blind-spots":
			for _, s := range audit.BlindSpots() {
				out = append(out, explanation{ID: s.ID, Group: "blind-spot", Title: "A kind of loss that the sources could not have shown", Text: s.Why, Remedy: s.Closes, Citations: []explainedCitation{}})
			}
			continue
		}
		if r := audit.RuleByID(name); r != nil {
			add(r)
			continue
		}
		if s, ok := audit.BlindSpotByID(name); ok {
			out = append(out, explanation{ID: s.ID, Group: "blind-spot", Title: "A kind of loss that the sources could not have shown", Text: s.Why, Remedy: s.Closes, Citations: []explainedCitation{}})
			continue
		}
		return nil, usagef("explain %q: no such rule or blind spot, did you mean %s? 'ringaudit explain' lists them", name, audit.NearestRule(name))
	}
	return out, nil
}

func explainList(w io.Writer, topics []explanation) error {
	group := ""
	for _, t := range topics {
		if t.Group != group {
			if group != "" {
				fmt.Fprintln(w)
			}
			group = t.Group
			fmt.Fprintln(w, group)
		}
		if _, err := fmt.Fprintf(w, "  %-28s %-8s %s\n", t.ID, t.Severity, t.Title); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, "\n'ringaudit explain RULE' says what one means; 'ringaudit explain blind-spots', what no source may show.")
	return err
}

func explainText(w io.Writer, topics []explanation) error {
	for i, t := range topics {
		if i > 0 {
			fmt.Fprintln(w)
		}
		head := t.ID
		if t.Severity != "" {
			head += " (" + t.Group + ", " + t.Severity + ")"
		}
		fmt.Fprintf(w, "%s\n%s\n\n%s\n", head, t.Title, wrap(t.Text, 80, ""))
		if t.Remedy != "" {
			fmt.Fprintf(w, "\n→ %s\n", wrap(t.Remedy, 78, "  "))
		}
		if len(t.Citations) > 0 {
			fmt.Fprintln(w, "\nIn the kernel:")
		}
		for _, c := range t.Citations {
			fmt.Fprintf(w, "  [%s] %s\n", c.ID, c.Where)
			if c.Note != "" {
				fmt.Fprintf(w, "    %s\n", wrap(c.Note, 76, "    "))
			}
			for _, v := range sortedVersions(c.Links) {
				fmt.Fprintf(w, "    %-9s %s\n", v, c.Links[v])
			}
		}
	}
	return nil
}

//go:generate go run github.com/ringaudit/ringaudit/cmd/ringaudit explain all --format markdown=../../../../docs/rules.md

// explainMarkdown writes a page. The headings of rules are their IDs, so that a
// link to #RULE finds them.
func explainMarkdown(w io.Writer, topics []explanation) error {
	if len(topics) > 1 {
		fmt.Fprint(w, "# What findings mean\n\nMade by `go generate` from the rules themselves; `ringaudit explain RULE` prints the same. Each rule ends in the places of the kernel\nthat hold what it says, with links to the lines in the versions that were checked.\n\n")
	}
	group := ""
	for _, t := range topics {
		if len(topics) > 1 && t.Group != group {
			group = t.Group
			fmt.Fprintf(w, "## %s\n\n", group)
		}
		fmt.Fprintf(w, "### `%s`\n\n%s", t.ID, t.Title)
		if t.Severity != "" {
			fmt.Fprintf(w, " (%s, %s)", t.Group, t.Severity)
		}
		fmt.Fprintf(w, ".\n\n%s\n", t.Text)
		if t.Remedy != "" {
			fmt.Fprintf(w, "\n**What to do:** %s.\n", strings.TrimSuffix(t.Remedy, "."))
		}
		if len(t.Citations) > 0 {
			fmt.Fprintln(w)
		}
		for _, c := range t.Citations {
			fmt.Fprintf(w, "- `%s`: %s `%s`", c.ID, c.Note, c.Where)
			for i, v := range sortedVersions(c.Links) {
				sep := " ·"
				if i == 0 {
					sep = ":"
				}
				fmt.Fprintf(w, "%s [%s](%s)", sep, v, c.Links[v])
			}
			fmt.Fprintln(w)
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
	}
	return nil
}

// wrap breaks text at width columns; lines after the first begin with indent.
func wrap(text string, width int, indent string) string {
	var b strings.Builder
	col := 0
	for i, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case i == 0:
		case col+1+n > width:
			b.WriteString("\n" + indent)
			col = 0
		default:
			b.WriteByte(' ')
			col++
		}
		b.WriteString(word)
		col += n
	}
	return b.String()
}

// citationsOf looks the records of the blueprints up.
func citationsOf(ids []string) []explainedCitation {
	out := []explainedCitation{}
	for _, id := range ids {
		c := explainedCitation{ID: id}
		if r, ok := blueprints.ShippedRecord(id); ok {
			c.Note, c.Where, c.Links = r.Note, r.Where, r.Links
		}
		out = append(out, c)
	}
	return out
}

// sortedVersions lists kernel versions, oldest first.
func sortedVersions(links map[string]string) []string {
	var out []string
	for v := range links {
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b string) int {
		x, errX := citations.ParseVersion(a)
		y, errY := citations.ParseVersion(b)
		if errX != nil || errY != nil {
			return strings.Compare(a, b)
		}
		return x.Compare(y)
	})
	return out
}
