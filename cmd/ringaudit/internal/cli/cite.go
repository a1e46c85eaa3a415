package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ringaudit/ringaudit/citations"
)

func newCiteCmd(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cite",
		Short: "Hold what documents say about kernel source against kernel trees",
		Long: `A document NAME.md carries markers, [NAME-R12] for a reference and [NAME-A3] for
an assertion; its records stand in NAME.refs.toml beside it, and NAME.lock.toml,
written by this tool, keeps where each was found in each kernel version.
docs/citations.md tells the whole of it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, mk := range []func(*Env) *cobra.Command{newCiteCheckCmd, newCiteConfirmCmd, newCiteBumpCmd, newCiteBlameCmd,
		newCiteSelftestCmd, newCiteExtractCmd, newCiteImportCmd, newCiteListCmd} {
		cmd.AddCommand(mk(env))
	}
	return cmd
}

// treeFlags are the kernel trees of a run, and the configuration that pins them.
type treeFlags struct {
	Trees   []string
	Config  string
	Cache   string
	NoCache bool
}

func (t *treeFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&t.Trees, "tree", nil, "kernel source: a folder, a .tar[.gz|.xz|.zst] archive, an extract, or REPOSITORY@REVISION; repeatable (default: those that the configuration pins)")
	f.StringVar(&t.Config, "config", "", "configuration file with [citations] (default ringaudit.toml here, if there is one)")
	f.StringVar(&t.Cache, "cache", "", "folder that keeps what was taken out of large archives (default: ringaudit in the user's cache folder)")
	f.BoolVar(&t.NoCache, "no-cache", false, "unpack large archives every time")
}

// pins reads the [citations] table of the configuration; nil if there is none.
func (t *treeFlags) pins() (*citations.Pins, error) {
	name := t.Config
	if name == "" {
		name = configName
	}
	data, err := os.ReadFile(name)
	if err != nil {
		if t.Config == "" && errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, usagef("--config: %v", err)
	}
	p, err := citations.ParsePins(name, data)
	if err != nil {
		return nil, usagef("%v", err)
	}
	return p, nil
}

// open opens the given trees, or else the pinned ones.
func (t *treeFlags) open(ctx context.Context, env *Env, pins *citations.Pins) []*citations.Tree {
	opts := citations.TreeOptions{Cache: t.cacheFolder(env, pins)}
	var out []*citations.Tree
	for _, spec := range t.Trees {
		out = append(out, citations.OpenTree(ctx, spec, opts))
	}
	if len(t.Trees) == 0 && pins != nil {
		for _, p := range pins.Trees {
			if p.Source != "" {
				out = append(out, citations.OpenTree(ctx, pins.Resolve(p.Source), opts))
			}
		}
	}
	return out
}

func (t *treeFlags) cacheFolder(env *Env, pins *citations.Pins) string {
	switch {
	case t.NoCache:
		return ""
	case t.Cache != "":
		return t.Cache
	case pins != nil && pins.Cache != "":
		return pins.Resolve(pins.Cache)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "" // no home folder: a cache is never required
	}
	return filepath.Join(dir, "ringaudit", "trees")
}

// loadSets finds the refs files that the arguments name: refs files, the
// documents beside them, or folders of them. Without arguments it is what the
// configuration names, else the working folder.
func loadSets(args []string, pins *citations.Pins) ([]*citations.Set, map[string]*citations.Lock, error) {
	if len(args) == 0 {
		args = []string{"."}
		if pins != nil && len(pins.Documents) > 0 {
			args = nil
			for _, d := range pins.Documents {
				args = append(args, pins.Resolve(d))
			}
		}
	}
	var files []string
	seen := make(map[string]bool)
	for _, arg := range args {
		found, err := refsFiles(arg)
		if err != nil {
			return nil, nil, exitWith(exitUnreadable, err)
		}
		for _, f := range found {
			if !seen[filepath.Clean(f)] {
				seen[filepath.Clean(f)] = true
				files = append(files, f)
			}
		}
	}
	var sets []*citations.Set
	locks := make(map[string]*citations.Lock)
	by := make(map[string]string)
	for _, f := range files {
		s, err := citations.LoadSet(f)
		if err != nil {
			return nil, nil, exitWith(exitUnreadable, err)
		}
		if other, ok := by[s.Name]; ok {
			return nil, nil, usagef("%s and %s are records of one name, %s: a marker could mean either", other, f, s.Name)
		}
		by[s.Name] = f
		l, err := citations.LoadLock(filepath.FromSlash(s.LockPath))
		if err != nil {
			return nil, nil, exitWith(exitUnreadable, err)
		}
		if l != nil {
			locks[s.Name] = l
		}
		sets = append(sets, s)
	}
	return sets, locks, nil
}

// refsFiles are the refs files that one argument names.
func refsFiles(arg string) ([]string, error) {
	fi, err := os.Stat(arg)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not there: expected a document, its refs file, or a folder of them", arg)
	}
	if err != nil {
		return nil, err
	}
	if !fi.IsDir() {
		if base, ok := strings.CutSuffix(arg, ".md"); ok {
			refs := base + ".refs.toml"
			if _, err := os.Stat(refs); err != nil {
				return nil, fmt.Errorf("%s has no records: expected %s beside it", arg, refs)
			}
			return []string{refs}, nil
		}
		return []string{arg}, nil
	}
	var out []string
	err = filepath.WalkDir(arg, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && name != arg && (strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules" || e.Name() == "vendor" || e.Name() == "testdata"):
			return fs.SkipDir
		case !e.IsDir() && (strings.HasSuffix(e.Name(), ".refs.toml") || e.Name() == "refs.toml"):
			out = append(out, name)
		}
		return nil
	})
	sort.Strings(out)
	return out, err
}

// writeWhole writes a file whole or not at all, and not if it is so already.
func writeWhole(name string, data []byte) (wrote bool, err error) {
	name = filepath.FromSlash(name)
	if have, err := os.ReadFile(name); err == nil && string(have) == string(data) {
		return false, nil
	}
	w, err := newWholeFile(name)
	if err != nil {
		return false, exitWith(exitUnreadable, err)
	}
	defer w.Abort()
	if _, err := w.Write(data); err != nil {
		return false, exitWith(exitUnreadable, err)
	}
	if err := w.Commit(); err != nil {
		return false, exitWith(exitUnreadable, err)
	}
	return true, nil
}

// citeExit is the exit code of a run of the gate.
func citeExit(r *citations.Result) int {
	switch r.Outcome() {
	case citations.Passed:
		return exitOK
	case citations.Broken:
		return exitFindings
	case citations.Unreadable:
		return exitUnreadable
	}
	return exitUndecided
}

// documentsArg is how help calls the arguments of cite's verbs.
const documentsArg = "[DOCUMENT | REFS.toml | FOLDER]…"
