package audit

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringaudit/ringaudit/internal/fixtures"
)

// Each file of tracedat-corrupt has one fault; the few that are valid have none.
func TestCorruptDat(t *testing.T) {
	valid := map[string]bool{"00": true, "16": true, "18_signext": true, "23": true, "25": true}
	files, _ := filepath.Glob(filepath.Join(fixtures.Captures(t), "tracedat-corrupt/*.dat"))
	if len(files) < 20 {
		t.Fatalf("only %d files", len(files))
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			a := run(t, f)
			said := append(findings(a, "damaged-input"), findings(a, "truncated-input")...)
			number, _, _ := strings.Cut(filepath.Base(f), "_")
			if valid[number] {
				if len(said) > 0 {
					t.Errorf("a valid file is called damaged: %s", said[0].Message)
				}
				return
			}
			if len(said) == 0 {
				t.Fatal("no damaged-input or truncated-input")
			}
			for _, s := range said {
				if !strings.Contains(s.Message, "offset") && !strings.Contains(s.Message, "expected") {
					t.Errorf("the message names no place: %s", s.Message)
				}
			}
			if a.Verdict == Complete || a.Verdict == Confirmed || a.Exit == 0 {
				t.Errorf("%s, exit %d, of a damaged file", a.Verdict, a.Exit)
			}
		})
	}
}
