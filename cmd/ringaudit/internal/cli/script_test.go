package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ringaudit/ringaudit/internal/fixtures"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"ringaudit": func() { os.Exit(Main(System(), os.Args[1:])) },
	})
}

// TestScripts runs testdata/script/*.txtar: each is a folder of files and what
// a person would type there. Beside the commands of testscript there is
//
//	exits CODE ringaudit …   it ends with exactly this code
//
// and the conditions [trees] and [captures] (also git, xz, zstd as [exec:git]),
// with the folders $TREES and $CAPTURES. RINGAUDIT_UPDATE_SCRIPTS=1 writes
// what cmp expects anew.
func TestScripts(t *testing.T) {
	root := fixtures.Root(t)
	shared := map[string]string{
		"trees":    filepath.Join(root, "..", "shared", "kernel-trees"),
		"captures": filepath.Join(root, "..", "shared", "captures"),
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       os.Getenv("RINGAUDIT_UPDATE_SCRIPTS") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("NO_COLOR", "1")
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, ".cache"))
			e.Setenv("LocalAppData", filepath.Join(e.WorkDir, ".cache"))
			e.Setenv("TREES", shared["trees"])
			e.Setenv("CAPTURES", shared["captures"])
			e.Setenv("PROJECT", root)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		Condition: func(cond string) (bool, error) {
			dir, ok := shared[cond]
			if !ok {
				return false, errors.New("no such condition")
			}
			_, err := os.Stat(dir)
			return err == nil, nil
		},
	})
}

// exits runs a program that must end with a code. Unlike "! exec" it tells 1
// from 3.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARGUMENT…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s ended with %d, want %d", args[1], got, want)
	}
}
