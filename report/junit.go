package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"sort"
	"strings"
	"unicode/utf8"
)

// The dialect of JUnit XML that CI systems agree on: a suite for each document
// or buffer, a case for each thing looked at, failures for what counts.

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class    string         `xml:"classname,attr"`
	Name     string         `xml:"name,attr"`
	File     string         `xml:"file,attr,omitempty"`
	Line     int            `xml:"line,attr,omitempty"`
	Failures []junitFailure `xml:"failure,omitempty"`
	Skipped  *junitSkipped  `xml:"skipped,omitempty"`
	Out      string         `xml:"system-out,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

type junitSkipped struct {
	Message string `xml:"message,attr,omitempty"`
}

// WriteJUnit writes problems as JUnit XML: errors are failures, warnings and
// notes the output of their case. The only errors are those of w.
func WriteJUnit(w io.Writer, p *Problems) error {
	all := junitSuites{Name: strings.TrimSpace("ringaudit " + p.Verb)}
	index := make(map[string]int) // suite → index
	at := make(map[[2]string]int) // suite and case → index in the suite
	get := func(suite, name string) *junitCase {
		s, ok := index[suite]
		if !ok {
			s = len(all.Suites)
			index[suite] = s
			all.Suites = append(all.Suites, junitSuite{Name: suite})
		}
		c, ok := at[[2]string{suite, name}]
		if !ok {
			c = len(all.Suites[s].Cases)
			at[[2]string{suite, name}] = c
			all.Suites[s].Cases = append(all.Suites[s].Cases, junitCase{Class: suite, Name: name})
		}
		return &all.Suites[s].Cases[c]
	}
	for _, c := range p.Cases {
		x := get(c.Suite, c.Name)
		if c.Skipped != "" {
			x.Skipped = &junitSkipped{Message: validXML(c.Skipped)}
		}
	}
	for _, x := range p.List {
		suite, name := x.Suite, x.Case
		if suite == "" {
			suite = orDash(x.Path, "ringaudit")
		}
		if name == "" {
			name = x.Rule + " " + x.Fingerprint
		}
		c := get(suite, name)
		c.Skipped = nil
		if x.Path != "" && c.File == "" {
			c.File, c.Line = x.Path, x.Line
		}
		text := validXML(problemText(x))
		if x.Severity == "error" && x.Suppressed == "" {
			c.Failures = append(c.Failures, junitFailure{Message: validXML(x.Message), Type: x.Rule, Text: text})
		} else {
			c.Out += text + "\n"
		}
	}
	sort.SliceStable(all.Suites, func(i, j int) bool { return all.Suites[i].Name < all.Suites[j].Name })
	for i := range all.Suites {
		s := &all.Suites[i]
		for _, c := range s.Cases {
			s.Tests++
			if len(c.Failures) > 0 {
				s.Failures++
			}
			if c.Skipped != nil {
				s.Skipped++
			}
		}
		all.Tests, all.Failures, all.Skipped = all.Tests+s.Tests, all.Failures+s.Failures, all.Skipped+s.Skipped
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// problemText is a problem as one would read it in a terminal.
func problemText(x Problem) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s: %s", problemPlace(x.Path, x.Line, x.Col), x.Rule, x.Message)
	if x.Action != "" {
		b.WriteString("\n" + x.Action)
	}
	for _, q := range x.Related {
		base := ""
		if q.Base != "" {
			base = q.Base + "/"
		}
		fmt.Fprintf(&b, "\n%s%s", base, problemPlace(q.Path, q.Line, q.Col))
		b.WriteString(strings.TrimSpace(q.Message))
	}
	if x.Suppressed != "" {
		b.WriteString("\nsuppressed: " + x.Suppressed)
	}
	return b.String()
}

func problemPlace(p string, line, col int) string {
	switch {
	case p == "":
		return ""
	case line <= 0:
		return p + ": "
	case col <= 0:
		return fmt.Sprintf("%s:%d: ", p, line)
	}
	return fmt.Sprintf("%s:%d:%d: ", p, line, col)
}

// validXML replaces what XML 1.0 has no character for.
func validXML(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r', r >= 0x20 && r <= 0xd7ff, r >= 0xe000 && r <= 0xfffd && r != utf8.RuneError, r >= 0x10000:
			return r
		}
		return '?'
	}, s)
}
