package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringaudit/ringaudit/audit"
	"github.com/ringaudit/ringaudit/blueprints"
	"github.com/ringaudit/ringaudit/internal/fixtures"
)

// Every citation of a rule is a record of this project's blueprints, and says
// what it proves.
func TestRulesCiteBlueprints(t *testing.T) {
	for _, r := range audit.Rules() {
		seen := map[string]bool{}
		for _, id := range r.Citations {
			rec, ok := blueprints.ShippedRecord(id)
			switch {
			case !ok:
				t.Errorf("%s cites %s, which no blueprint has", r.ID, id)
			case rec.Note == "" || rec.Where == "":
				t.Errorf("%s cites %s, which says %q of %q", r.ID, id, rec.Note, rec.Where)
			case seen[id]:
				t.Errorf("%s cites %s twice", r.ID, id)
			}
			seen[id] = true
		}
	}
}

func runExplainLine(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	env := &Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }, Now: func() time.Time { return time.Unix(0, 0) }}
	code = Main(env, append([]string{"explain"}, args...))
	return code, out.String(), errs.String()
}

func explained(t *testing.T, args ...string) string {
	t.Helper()
	code, out, errs := runExplainLine(args...)
	if code != 0 {
		t.Fatalf("explain %v: exit %d: %s", args, code, errs)
	}
	return out
}

// docs/rules.md is what explain prints.
func TestRulesPage(t *testing.T) {
	want := explained(t, "all", "--format", "markdown")
	got, err := os.ReadFile(filepath.Join(fixtures.Root(t), "docs", "rules.md"))
	if err != nil {
		t.Fatalf("%v; run go generate ./cmd/ringaudit/internal/cli", err)
	}
	if !bytes.Equal(bytes.ReplaceAll(got, []byte("\r\n"), []byte("\n")), []byte(want)) {
		t.Error("docs/rules.md is not what explain prints; run go generate ./cmd/ringaudit/internal/cli")
	}
	for _, r := range audit.Rules() {
		if !strings.Contains(want, "### `"+r.ID+"`\n") {
			t.Errorf("docs/rules.md has no %s", r.ID)
		}
	}
}

func TestExplain(t *testing.T) {
	text := explained(t, "overwritten-events")
	for _, want := range []string{"overwritten-events (loss, error)", "→ give the buffer the size", "In the kernel:", "[trace-ring-buffer-R1] kernel/trace/ring_buffer.c#rb_handle_head_page"} {
		if !strings.Contains(text, want) {
			t.Errorf("explain overwritten-events has no %q:\n%s", want, text)
		}
	}
	for _, s := range audit.BlindSpots() {
		if got := explained(t, s.ID); !strings.Contains(got, s.ID) {
			t.Errorf("explain %s: %s", s.ID, got)
		}
	}
	if code, _, errs := runExplainLine("overwriten-events"); code != 2 || !strings.Contains(errs, "did you mean overwritten-events?") {
		t.Errorf("a typing error: exit %d, %q", code, errs)
	}
}
