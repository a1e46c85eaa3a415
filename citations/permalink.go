package citations

import (
	"fmt"
	"net/url"
	"strings"
)

// DefaultPermalink is the template of links to a line of a file in a version:
// the web view of the stable kernel repository.
const DefaultPermalink = "https://git.kernel.org/pub/scm/linux/kernel/git/stable/linux.git/tree/{path}?h=v{version}#n{line}"

// Permalink is the URL of a line of a file in a version; line 0 is the file.
// An empty template is the default one.
func Permalink(template, version, path string, line int) string {
	if template == "" {
		template = DefaultPermalink
	}
	if line == 0 {
		template, _, _ = strings.Cut(template, "#")
	}
	parts := strings.Split(path, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.NewReplacer("{path}", strings.Join(parts, "/"), "{version}", url.QueryEscape(version), "{line}", fmt.Sprint(line)).Replace(template)
}

// Links are the permalinks of a record, by version, from a lock: the line of a
// reference, the first place that an assertion found.
func (l *Lock) Links(id string, pins *Pins) map[string]string {
	out := make(map[string]string)
	if l == nil || l.Records[id] == nil {
		return out
	}
	for v, e := range l.Records[id].At {
		if u := l.link(e, v, pins); u != "" {
			out[v] = u
		}
	}
	return out
}

// Link is the permalink of a record in a version, empty if the lock does not
// have it.
func (l *Lock) Link(id, version string, pins *Pins) string {
	e, ok := l.Entry(id, version)
	if !ok {
		return ""
	}
	return l.link(e, version, pins)
}

func (l *Lock) link(e LockEntry, version string, pins *Pins) string {
	if e.Path != "" {
		return pins.Link(version, e.Path, e.Line())
	}
	for _, f := range e.Found {
		if p := foundPlace(f); p.Line > 0 {
			return pins.Link(version, p.File, p.Line)
		}
	}
	return ""
}

// foundPlace reads "symbol path:line".
func foundPlace(s string) (p Place) {
	sym, at, ok := strings.Cut(s, " ")
	i := strings.LastIndexByte(at, ':')
	if !ok || i < 0 {
		return Place{}
	}
	if _, err := fmt.Sscanf(at[i+1:], "%d", &p.Line); err != nil {
		return Place{}
	}
	p.File = at[:i]
	if sym != "-" {
		p.Symbol = sym
	}
	return p
}

// Places are where an assertion was found, from its entry in a lock.
func (e LockEntry) Places() (out []Place) {
	if e.Path != "" {
		for _, n := range e.Lines {
			out = append(out, Place{File: e.Path, Line: n, Symbol: e.Symbol})
		}
	}
	for _, f := range e.Found {
		if p := foundPlace(f); p.Line > 0 {
			out = append(out, p)
		}
	}
	return out
}

// Link is the permalink of a line by the templates of the pins, which may be
// nil.
func (p *Pins) Link(version, path string, line int) string {
	tmpl := ""
	if p != nil {
		tmpl = p.Permalink
		if x := p.pin(version); x != nil && x.Permalink != "" {
			tmpl = x.Permalink
		}
	}
	return Permalink(tmpl, version, path, line)
}
