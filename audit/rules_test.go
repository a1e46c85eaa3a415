package audit

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ruleTest holds for one rule: on what it fires and what it says then, and on
// which neighbour of that input it stays quiet.
type ruleTest struct {
	rule string
	bad  func(testing.TB) *Audit
	// found are the rule's findings on bad, all of them, in order.
	found []found
	good  func(testing.TB) *Audit
}

// found is what is asserted of a finding.
type found struct {
	severity Severity
	buffer   string
	cpu      int // Total: of none
	probe    string
	says     []string // parts of the message
	at       []string // places among its evidence, "s1 per_cpu/cpu0/stats:2 overrun: 5"
}

// ruleTests are the tests of all rules; the files rules_GROUP_test.go hold them.
func ruleTests() []ruleTest {
	return slices.Concat(lossTests, silenceTests, contradictionTests, geometryTests, coverageTests, readingTests, probeTests, ebpfTests, policyTests)
}

// only audits a tree alone.
func only(t tree) func(testing.TB) *Audit {
	return func(tb testing.TB) *Audit { return t.audit(tb) }
}

// given audits a tree with options; beside it may stand texts, by file name.
func given(t tree, opt Options, texts ...string) func(testing.TB) *Audit {
	return func(tb testing.TB) *Audit {
		opt := opt
		opt.Sources = []Input{t.input()}
		for i := 0; i < len(texts); i += 2 {
			opt.Sources = append(opt.Sources, Input{Path: textFile(tb, texts[i], texts[i+1])})
		}
		return runWith(tb, opt)
	}
}

// text audits one text alone.
func text(name, content string) func(testing.TB) *Audit {
	return func(tb testing.TB) *Audit { return run(tb, textFile(tb, name, content)) }
}

func TestRules(t *testing.T) {
	for _, rt := range ruleTests() {
		t.Run(rt.rule, func(t *testing.T) {
			a := rt.bad(t)
			checkFindings(t, a)
			got := findings(a, rt.rule)
			if len(got) != len(rt.found) {
				t.Errorf("%d findings, want %d", len(got), len(rt.found))
			}
			for i := range min(len(got), len(rt.found)) {
				rt.found[i].check(t, a, got[i])
			}
			if t.Failed() {
				for _, f := range a.Findings {
					t.Logf("%s %s: %s %v", f.Severity, f.Rule, f.Message, places(f))
				}
			}
			good := rt.good(t)
			checkFindings(t, good)
			for _, f := range findings(good, rt.rule) {
				t.Errorf("on the good input: %s", f.Message)
			}
		})
	}
}

func (w found) check(t *testing.T, a *Audit, f Finding) {
	t.Helper()
	if f.Severity != w.severity || f.Buffer != w.buffer || f.Probe != w.probe {
		t.Errorf("%s of %q %q, want %s of %q %q: %s", f.Severity, f.Buffer, f.Probe, w.severity, w.buffer, w.probe, f.Message)
	}
	switch {
	case w.cpu == Total && f.CPU != nil:
		t.Errorf("of cpu %d, want of none: %s", *f.CPU, f.Message)
	case w.cpu != Total && (f.CPU == nil || *f.CPU != w.cpu):
		t.Errorf("of cpu %v, want %d: %s", f.CPU, w.cpu, f.Message)
	}
	for _, s := range w.says {
		if !strings.Contains(f.Message, s) {
			t.Errorf("%q does not say %q", f.Message, s)
		}
	}
	for _, at := range w.at {
		if !slices.Contains(places(f), at) {
			t.Errorf("evidence %q lacks %q", places(f), at)
		}
	}
}

// places writes a finding's evidence down.
func places(f Finding) []string {
	var out []string
	for _, ev := range f.Evidence {
		s := ev.Source
		if ev.File != "" {
			s += " " + ev.File
		}
		if ev.Line > 0 {
			s += fmt.Sprintf(":%d", ev.Line)
		}
		if ev.Binary {
			s += fmt.Sprintf("@%d", ev.Offset)
		}
		if ev.Text != "" {
			s += " " + ev.Text
		}
		out = append(out, s)
	}
	return out
}

// checkFindings holds what is true of every finding: it is of a rule, says
// something, cites what its rule cites, and its evidence is where it says.
func checkFindings(t *testing.T, a *Audit) {
	t.Helper()
	if o := a.Options; a.Verdict == Lossy && a.Exit != 1 && o.FailOn == FailOnLoss && len(o.Policy.Budgets)+len(o.Policy.Severities)+len(o.Policy.Suppressions) == 0 {
		t.Errorf("lossy (%s), and exit %d", a.Reason, a.Exit)
	}
	for _, f := range a.Findings {
		r := RuleByID(f.Rule)
		if r == nil {
			t.Fatalf("no rule %q", f.Rule)
		}
		if f.Message == "" || len(f.Evidence) == 0 {
			t.Errorf("%s: message %q, %d pieces of evidence", f.Rule, f.Message, len(f.Evidence))
		}
		if !slices.Equal(f.Citations, r.Citations) {
			t.Errorf("%s cites %v, and its rule %v", f.Rule, f.Citations, r.Citations)
		}
		for _, ev := range f.Evidence {
			if ev.Line == 0 || ev.Text == "" || ev.Source == "config" || a.Options.Sources[0].Live {
				continue
			}
			line, err := lineOf(a, ev)
			if err != nil {
				t.Errorf("%s: %v", f.Rule, err)
				continue
			}
			if cut, shortened := strings.CutSuffix(ev.Text, "…"); line != ev.Text && !(shortened && strings.HasPrefix(line, cut)) && !strings.Contains(line, ev.Text) {
				t.Errorf("%s: line %d of %s %s is %q, the evidence says %q", f.Rule, ev.Line, ev.Source, ev.File, line, ev.Text)
			}
		}
	}
}

// lineOf reads the line that evidence names, from the input itself.
func lineOf(a *Audit, ev Evidence) (string, error) {
	inputs := slices.Clone(a.Options.Sources)
	if a.Options.Before != nil {
		inputs = append(inputs, *a.Options.Before)
	}
	var n int
	if _, err := fmt.Sscanf(ev.Source, "s%d", &n); err != nil || n < 1 || n > len(inputs) {
		return "", fmt.Errorf("no source %q", ev.Source)
	}
	in := inputs[n-1]
	var data []byte
	var err error
	switch name := filepath.Join(in.Path, filepath.FromSlash(ev.File)); {
	case in.FS != nil:
		data, err = fs.ReadFile(in.FS, ev.File)
	case in.Reader != nil:
		data, err = io.ReadAll(in.Reader)
	default:
		data, err = os.ReadFile(name)
	}
	if err != nil {
		return "", err
	}
	lines := strings.Split(string(data), "\n")
	if ev.Line > len(lines) {
		return "", fmt.Errorf("%s has no line %d", ev.File, ev.Line)
	}
	return lines[ev.Line-1], nil
}

// Every rule is documented and tested.
func TestEveryRule(t *testing.T) {
	tested := map[string]bool{}
	for _, rt := range ruleTests() {
		if RuleByID(rt.rule) == nil {
			t.Errorf("a test of %q, which is no rule", rt.rule)
		}
		if rt.bad == nil || rt.good == nil || len(rt.found) == 0 {
			t.Errorf("%s: a test without a bad or a good input, or without a finding", rt.rule)
		}
		tested[rt.rule] = true
	}
	seen := map[string]bool{}
	for _, r := range Rules() {
		if seen[r.ID] {
			t.Errorf("%s: twice", r.ID)
		}
		seen[r.ID] = true
		if !tested[r.ID] {
			t.Errorf("%s: no test", r.ID)
		}
		if r.Title == "" || strings.HasSuffix(r.Title, ".") || !strings.HasSuffix(r.Text, ".") || r.Group == "" || r.Severity.rank() == 2 && r.Severity != SeverityNote {
			t.Errorf("%s: title %q, text %q, group %q, severity %q", r.ID, r.Title, r.Text, r.Group, r.Severity)
		}
		if len(r.Citations) == 0 && r.Group != GroupPolicy && r != ruleUnreadable {
			t.Errorf("%s: cites nothing", r.ID)
		}
		if len(r.Citations) > 4 {
			t.Errorf("%s: %d citations", r.ID, len(r.Citations))
		}
		if r != ruleSuppression && checks()[r] == nil {
			t.Errorf("%s: nothing looks for it", r.ID)
		}
		if NearestRule(r.ID+"x") != r.ID {
			t.Errorf("%s: a typing error leads to %s", r.ID, NearestRule(r.ID+"x"))
		}
	}
	if len(checks()) != len(Rules()) {
		t.Errorf("%d checks of %d rules", len(checks()), len(Rules()))
	}
}
