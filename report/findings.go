package report

import (
	"io"
	"path"
	"strings"

	"github.com/ringaudit/ringaudit/audit"
)

// undecided is the rule under which the formats for other programs say that no
// verdict was reached: there no news must not look like good news.
const undecided = "undetermined"

// Problems is the findings of a document in the form that sarif, junit and
// github share. A document that is undetermined has a problem that says so.
func (d *Document) Problems() *Problems {
	p := &Problems{
		Version: strings.TrimPrefix(d.Tool, "ringaudit "), Verb: "audit", Exit: d.Exit, Complete: d.Exit == 0 || d.Exit == 1 || d.Exit == 3,
		Rules: []ProblemRule{{
			ID: undecided, Title: "The sources do not tell whether anything was lost", Severity: "warning",
			Help: "No loss is proven and none is ruled out. The reason says what is missing and what to give instead.",
		}},
	}
	for _, r := range audit.Rules() {
		help := r.Text
		if r.Remedy != "" {
			help += "\n\n" + r.Remedy
		}
		p.Rules = append(p.Rules, ProblemRule{ID: r.ID, Title: r.Title, Help: help, Severity: string(r.Severity)})
	}
	for i := range d.Buffers {
		p.Cases = append(p.Cases, d.Buffers[i].cases()...)
	}
	if d.Verdict == "undetermined" {
		p.Cases = append(p.Cases, ProblemCase{Suite: suiteOf(""), Name: "verdict", Skipped: clean(d.Reason)})
		p.List = append(p.List, Problem{
			Rule: undecided, Severity: "warning", Message: clean(d.Reason), Path: d.firstPath(), Fingerprint: undecided,
			Suite: suiteOf(""), Case: undecided,
		})
	}
	for i := range d.Findings {
		p.List = append(p.List, d.problem(&d.Findings[i]))
	}
	return p
}

// cases is what was looked at in a buffer. A kind of loss that the sources
// cannot count is a case that was skipped, never one that passed.
func (b *Buffer) cases() []ProblemCase {
	var out []ProblemCase
	suite := suiteOf(b.Name)
	for _, q := range []struct {
		rule string
		n    *audit.Count
	}{
		{"overwritten-events", b.Total.Overwritten},
		{"dropped-events", b.Total.Dropped},
		{"commit-overrun", b.Total.CommitOverrun},
		{"uncounted-loss", b.Total.Uncounted},
	} {
		c := ProblemCase{Suite: suite, Name: q.rule}
		if n := or(q.n); !n.None() && n.Lo == 0 {
			c.Skipped = "no source given counts it"
		}
		out = append(out, c)
	}
	switch b.Verdict {
	case "undetermined":
		out = append(out, ProblemCase{Suite: suite, Name: "verdict", Skipped: clean(b.Reason)})
	case "complete", "confirmed":
		out = append(out, ProblemCase{Suite: suite, Name: "verdict"})
	}
	return out
}

// suiteOf is the JUnit suite of a buffer, or of what is about none.
func suiteOf(buffer string) string {
	if buffer == "" {
		return "ringaudit"
	}
	return "buffer " + clean(buffer)
}

func (d *Document) firstPath() string {
	if len(d.Sources) == 0 {
		return ""
	}
	return d.Sources[0].Path
}

func (d *Document) problem(f *Finding) Problem {
	message := clean(f.Message)
	if w := d.where(f); w != "" {
		message = strings.ReplaceAll(w, "\u00a0", " ") + ": " + message
	}
	x := Problem{
		Rule: f.Rule, Severity: f.Severity, Message: message, Action: clean(f.Action), Fingerprint: f.Fingerprint,
		Suppressed: clean(f.Suppressed), Suite: suiteOf(f.Buffer), Case: f.Rule,
	}
	for i := range f.Evidence {
		e := &f.Evidence[i]
		if i == 0 {
			x.Path, x.Line = d.path(e), e.Line
			continue
		}
		x.Related = append(x.Related, ProblemPlace{Path: d.path(e), Line: e.Line, Message: clean(e.Text)})
	}
	return x
}

// path is the file that a piece of evidence stands in, as far as it is a file
// of its own: what a trace.dat holds is in the trace.dat.
func (d *Document) path(e *Evidence) string {
	src := d.source(e.Source)
	switch {
	case src == nil:
		return e.File
	case e.File == "" || e.File == src.Path || src.Kind != "tracefs" && (src.Kind != "bundle" || strings.Contains(path.Base(src.Path), ".tar")):
		return src.Path
	}
	return path.Join(strings.ReplaceAll(src.Path, `\`, "/"), e.File)
}

// renderSARIF leads from a rule to the first line of the kernel that proves it.
func renderSARIF(w io.Writer, d *Document, o Options) error {
	p := d.Problems()
	for i := range p.Rules {
		r := audit.RuleByID(p.Rules[i].ID)
		if r == nil {
			continue
		}
		for _, c := range r.Citations {
			if u := o.link(c); u != "" {
				p.Rules[i].URL = u
				break
			}
		}
	}
	return WriteSARIF(w, p)
}

func renderJUnit(w io.Writer, d *Document, _ Options) error  { return WriteJUnit(w, d.Problems()) }
func renderGitHub(w io.Writer, d *Document, _ Options) error { return WriteGitHub(w, d.Problems()) }
