package cli

import (
	"context"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringaudit/ringaudit/citations"
	"github.com/ringaudit/ringaudit/report"
)

// citeCheckOptions is the command line of cite check.
type citeCheckOptions struct {
	Documents []string
	trees     treeFlags
	Locked    bool
	Fix       bool
	Fewer     bool
	NoSearch  bool
	All       bool
	Baseline  string
	Adopt     string // reason
	Expires   string
	formats   formatFlags
	color     colorFlag
}

func newCiteCheckCmd(env *Env) *cobra.Command {
	var opt citeCheckOptions
	cmd := &cobra.Command{
		Use:   "check " + documentsArg,
		Short: "Resolve every citation in every tree, and every marker in every document",
		Long: `Check resolves each reference and evaluates each assertion in each tree, and holds
documents and records against each other in both directions: a marker without a
record, a record that nothing points at, a universal word (only, never, always,
every, exactly one) that no assertion backs.

--fix writes to the lock what passes: new lines, new records. It never touches a
refs file. A new kernel version is added with cite bump.

Exit codes: 0 every citation holds; 1 one is broken; 2 usage or configuration;
3 something could not be told (a tree is not to be had or not the pinned one,
nothing was checked, fewer than the lock has); 4 no tree, or a refs file, could
not be read.`,
		Example: `  ringaudit cite check --tree linux-6.12.117.tar.xz docs
  ringaudit cite check --tree ~/linux@v6.1 --tree ~/linux@v6.12 blueprints/trace-ring-buffer.md
  ringaudit cite check --locked --format text --format sarif=cite.sarif`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opt.Documents = args
			return runCiteCheck(cmd.Context(), env, opt)
		},
	}
	f := cmd.Flags()
	opt.trees.add(cmd)
	f.BoolVar(&opt.Locked, "locked", false, "fail if a lock is not what a fresh one would be (for CI)")
	f.BoolVar(&opt.Fix, "fix", false, "write what passes to the locks, and take out of the baseline what nothing needs")
	f.BoolVar(&opt.Fewer, "fewer", false, "accept fewer citations than the lock has; with --fix, the lock learns the new numbers")
	f.BoolVar(&opt.NoSearch, "no-search", false, "do not search whole trees for anchors that moved to another file")
	f.BoolVar(&opt.All, "all", false, "text and markdown: show notes and what the baseline excuses, too")
	f.StringVar(&opt.Baseline, "baseline", "", "file of known problems (default: the one that the configuration names)")
	f.StringVar(&opt.Adopt, "adopt", "", "write a new baseline of all present errors, with this reason; needs --baseline and --expires")
	f.StringVar(&opt.Expires, "expires", "", "with --adopt: the last day on which the baseline excuses, 2027-01-31")
	opt.color.add(f)
	opt.formats.add(cmd, citeFormats())
	return cmd
}

func citeFormats() (out []formatChoice) {
	for _, f := range report.CiteFormats() {
		out = append(out, formatChoice{f.Name, f.Doc})
	}
	return out
}

func runCiteCheck(ctx context.Context, env *Env, opt citeCheckOptions) error {
	outs, err := opt.formats.outputs()
	if err != nil {
		return err
	}
	color, err := opt.color.decide(env)
	if err != nil {
		return err
	}
	if opt.Fix && opt.Locked {
		return usagef("--fix writes the locks that --locked would hold against: give one of them")
	}
	pins, err := opt.trees.pins()
	if err != nil {
		return err
	}
	base, err := opt.baseline(env, pins)
	if err != nil {
		return err
	}
	sets, locks, err := loadSets(opt.Documents, pins)
	if err != nil {
		return err
	}
	trees := opt.trees.open(ctx, env, pins)
	res, err := citations.Check(ctx, sets, trees, citations.Options{Locks: locks, Locked: opt.Locked, Fewer: opt.Fewer, Pins: pins, NoSearch: opt.NoSearch})
	if err != nil {
		return exitWith(exitUnreadable, err)
	}
	if base != nil {
		base.Apply(res, env.Now())
	}
	var wrote []string
	if opt.Adopt != "" {
		if wrote, err = opt.adopt(env, res); err != nil {
			return err
		}
	}
	if opt.Fix {
		if wrote, err = opt.fix(res, base); err != nil {
			return err
		}
	}
	code := citeExit(res)
	doc := report.NewCite(Version, res, pins, code)
	doc.Wrote = wrote
	o := report.Options{Color: color, Width: env.Width, All: opt.All}
	err = env.write(outs, func(w io.Writer, out output) error {
		for _, f := range report.CiteFormats() {
			if f.Name == out.Format {
				fo := o
				fo.Color = o.Color && out.File == ""
				return f.Render(w, doc, fo)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return exitWith(code, nil)
}

// baseline reads the baseline; nil if there is none.
func (opt *citeCheckOptions) baseline(env *Env, pins *citations.Pins) (*citations.Baseline, error) {
	if opt.Adopt != "" {
		if _, err := time.Parse(time.DateOnly, opt.Expires); err != nil || opt.Baseline == "" {
			return nil, usagef("--adopt needs --baseline FILE and --expires DATE, such as 2027-01-31")
		}
		if opt.Expires < env.Now().Format(time.DateOnly) {
			return nil, usagef("--expires %s is past", opt.Expires)
		}
		if _, err := os.Stat(opt.Baseline); err == nil {
			return nil, usagef("%s is there already: a baseline may only shrink", opt.Baseline)
		}
		return nil, nil
	}
	if opt.Expires != "" {
		return nil, usagef("--expires is for --adopt")
	}
	name := opt.Baseline
	if name == "" && pins != nil && pins.Baseline != "" {
		name = pins.Resolve(pins.Baseline)
	}
	if name == "" {
		return nil, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, usagef("--baseline: %v", err)
	}
	b, err := citations.ParseBaseline(name, data)
	if err != nil {
		return nil, usagef("%v", err)
	}
	return b, nil
}

func (opt *citeCheckOptions) adopt(env *Env, res *citations.Result) ([]string, error) {
	expires, _ := time.Parse(time.DateOnly, opt.Expires) // checked above
	b := citations.NewBaseline(opt.Baseline, res, opt.Adopt, expires)
	if len(b.Entries) == 0 {
		return nil, nil
	}
	if _, err := writeWhole(opt.Baseline, b.Encode()); err != nil {
		return nil, err
	}
	b.Apply(res, env.Now())
	return []string{opt.Baseline}, nil
}

// fix writes the locks and the baseline anew, and takes out of the result what
// is mended by that. Where nothing was checked nothing is written.
func (opt *citeCheckOptions) fix(res *citations.Result, base *citations.Baseline) (wrote []string, err error) {
	if res.Counts.Checked == 0 {
		return nil, nil
	}
	for _, sr := range res.Sets {
		if sr.Counts.Checked == 0 {
			continue
		}
		lock := sr.Update(citations.UpdateOptions{Fewer: opt.Fewer})
		ok, err := writeWhole(sr.Set.LockPath, lock.Encode())
		if err != nil {
			return wrote, err
		}
		if ok {
			wrote = append(wrote, sr.Set.LockPath)
		}
	}
	if base != nil {
		ok, err := writeWhole(base.File, base.Shrunk(res).Encode())
		if err != nil {
			return wrote, err
		}
		if ok {
			wrote = append(wrote, base.File)
		}
	}
	res.Problems = slices.DeleteFunc(res.Problems, func(p citations.Problem) bool {
		return p.State == citations.Moved || p.State == citations.StaleEntry
	})
	return wrote, nil
}
