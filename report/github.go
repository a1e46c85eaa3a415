package report

import (
	"fmt"
	"io"
	"strings"
)

// WriteGitHub writes problems as workflow commands, which GitHub Actions shows
// as annotations at the line. It shows the first ten of each kind of a step; the
// log has all. The only errors are those of w.
func WriteGitHub(w io.Writer, p *Problems) error {
	for _, x := range p.List {
		if x.Suppressed != "" {
			continue
		}
		kind := "notice"
		switch x.Severity {
		case "error", "warning":
			kind = x.Severity
		}
		var props []string
		add := func(k, v string) { props = append(props, k+"="+githubProperty(v)) }
		if x.Path != "" {
			add("file", x.Path)
			if x.Line > 0 {
				add("line", fmt.Sprint(x.Line))
			}
			if x.Line > 0 && x.Col > 0 {
				add("col", fmt.Sprint(x.Col))
			}
		}
		add("title", "ringaudit "+x.Rule)
		text := x.Message
		if x.Action != "" {
			text += "\n" + x.Action
		}
		for i, q := range x.Related {
			if i == 5 {
				break
			}
			base := ""
			if q.Base != "" {
				base = q.Base + "/"
			}
			text += "\n" + base + strings.TrimSuffix(problemPlace(q.Path, q.Line, 0), ": ")
			if q.URL != "" {
				text += " " + q.URL
			}
		}
		if _, err := fmt.Fprintf(w, "::%s %s::%s\n", kind, strings.Join(props, ","), githubData(text)); err != nil {
			return err
		}
	}
	return nil
}

// A command ends at the line's end, so breaks in what it says are encoded; its
// properties also end at commas and colons.
var (
	githubDataEscapes     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubPropertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func githubData(s string) string     { return githubDataEscapes.Replace(s) }
func githubProperty(s string) string { return githubPropertyEscapes.Replace(s) }
