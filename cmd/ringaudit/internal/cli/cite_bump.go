package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ringaudit/ringaudit/citations"
)

// citeBumpOptions is the command line of cite bump.
type citeBumpOptions struct {
	Documents []string
	trees     treeFlags
	To, From  string
	DryRun    bool
}

func newCiteBumpCmd(env *Env) *cobra.Command {
	var opt citeBumpOptions
	cmd := &cobra.Command{
		Use:   "bump --to VERSION " + documentsArg,
		Short: "Take documents to a further kernel version: what stays, what moved, what a person must read",
		Long: `Bump resolves every citation in the tree of version --to, compares with what the
lock has for version --from (the newest below it), groups the records by what
became of them, and adds the version to the lock. Where lines around an anchor
changed, the lock keeps the earlier context, so that cite check asks until
somebody has read the place: cite confirm ID --reason ….

Give the tree of --from too, and the changes are shown as differences.

Exit codes: 0 nothing to read; 1 a person must read something; 2 usage;
3 the tree is not to be had; 4 unreadable.`,
		Example: `  ringaudit cite bump --to 7.2.13 --tree linux-6.12.117.tar.xz --tree linux-7.2.13.tar.xz docs
  ringaudit cite bump --to 7.2.13 --dry-run`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opt.Documents = args
			return runCiteBump(cmd.Context(), env, opt)
		},
	}
	opt.trees.add(cmd)
	f := cmd.Flags()
	f.StringVar(&opt.To, "to", "", "kernel version to add, such as 7.2.13")
	f.StringVar(&opt.From, "from", "", "version of the lock to compare with (default: the newest below --to)")
	f.BoolVar(&opt.DryRun, "dry-run", false, "write nothing; show what would change in the lock")
	return cmd
}

func runCiteBump(ctx context.Context, env *Env, opt citeBumpOptions) error {
	to, err := citations.ParseVersion(opt.To)
	if err != nil {
		return usagef("--to: %v", err)
	}
	from, err := citations.ParseVersion(opt.From)
	if err != nil && opt.From != "" {
		return usagef("--from: %v", err)
	}
	res, _, err := opt.trees.check(ctx, env, opt.Documents)
	if err != nil {
		return err
	}
	if tree := treeOf(res, to.String()); tree == nil {
		return noTree(res, to.String())
	}
	read := 0
	for _, sr := range res.Sets {
		base, err := bumpBase(sr, to, from)
		if err != nil {
			return err
		}
		n, err := bumpSet(env, sr, base, to.String(), opt.DryRun)
		if err != nil {
			return err
		}
		read += n
	}
	if read > 0 {
		return exitWith(exitFindings, nil)
	}
	return nil
}

// check runs the gate for the verbs that go on from its result.
func (t *treeFlags) check(ctx context.Context, env *Env, documents []string) (*citations.Result, *citations.Pins, error) {
	pins, err := t.pins()
	if err != nil {
		return nil, nil, err
	}
	sets, locks, err := loadSets(documents, pins)
	if err != nil {
		return nil, nil, err
	}
	res, err := citations.Check(ctx, sets, t.open(ctx, env, pins), citations.Options{Locks: locks, Pins: pins})
	if err != nil {
		return nil, nil, exitWith(exitUnreadable, err)
	}
	if len(sets) == 0 {
		return nil, nil, exitWith(exitUndecided, fmt.Errorf("no refs file among the documents given: expected NAME.refs.toml beside NAME.md"))
	}
	return res, pins, nil
}

func treeOf(res *citations.Result, version string) *citations.Tree {
	for _, t := range res.Trees {
		if t.Err() == nil && t.Version.String() == version {
			return t
		}
	}
	return nil
}

// noTree says why there is no tree of the version.
func noTree(res *citations.Result, version string) error {
	code := exitUndecided
	if res.Outcome() == citations.Unreadable {
		code = exitUnreadable
	}
	var why, have []string
	for _, t := range res.Trees {
		if t.Err() != nil {
			why = append(why, t.Err().Error())
		} else {
			have = append(have, t.Version.String())
		}
	}
	msg := "no tree of version " + version
	if len(have) > 0 {
		msg += ", the trees given are " + strings.Join(have, ", ")
	}
	if len(why) > 0 {
		msg += ": " + strings.Join(why, "; ")
	}
	return exitWith(code, fmt.Errorf("%s", msg))
}

// bumpBase is the version of the lock to compare with.
func bumpBase(sr *citations.SetResult, to, from citations.Version) (string, error) {
	if sr.Lock == nil {
		return "", exitWith(exitUndecided, fmt.Errorf("%s is not there: cite check --fix writes it for the trees given, the new version among them", sr.Set.LockPath))
	}
	best := ""
	for _, v := range sr.Lock.Versions() {
		if v == to.String() {
			return "", usagef("%s has %s already: cite check tells what is wrong with it", sr.Set.LockPath, v)
		}
		if from.Known() && v == from.String() {
			return v, nil
		}
		if x, err := citations.ParseVersion(v); err == nil && (x.Compare(to) < 0 || best == "") {
			best = v
		}
	}
	if from.Known() {
		return "", usagef("--from %s: %s has %s", from, sr.Set.LockPath, strings.Join(sr.Lock.Versions(), ", "))
	}
	return best, nil
}

func bumpSet(env *Env, sr *citations.SetResult, from, to string, dry bool) (read int, err error) {
	name := sr.Set.Document
	if name == "" {
		name = sr.Set.Path
	}
	fmt.Fprintf(env.Stdout, "%s: from %s to %s\n", name, from, to)
	for _, g := range sr.Bump(from, to) {
		fmt.Fprintf(env.Stdout, "\n%s (%d)\n", g.State, len(g.Findings))
		for _, f := range g.Findings {
			fmt.Fprintf(env.Stdout, "  %s  %s\n", f.ID, f.Message)
			if !f.Read {
				continue
			}
			read++
			for line := range strings.Lines(f.Proposal) {
				fmt.Fprintf(env.Stdout, "      %s\n", strings.TrimRight(line, "\n"))
			}
		}
	}
	fmt.Fprintln(env.Stdout)
	if read > 0 {
		fmt.Fprintf(env.Stdout, "a person must read %d of them; where the sentence still holds: cite confirm ID --reason …\n", read)
	}
	lock := sr.Update(citations.UpdateOptions{Bump: to, From: from})
	if dry {
		for _, line := range lineDiff(string(sr.Lock.Encode()), string(lock.Encode())) {
			fmt.Fprintln(env.Stdout, line)
		}
		return read, nil
	}
	wrote, err := writeWhole(sr.Set.LockPath, lock.Encode())
	if wrote {
		fmt.Fprintf(env.Stdout, "wrote %s\n", filepath.ToSlash(sr.Set.LockPath))
	}
	return read, err
}

// lineDiff is the lines that only one of two generated texts has. Both are
// sorted by record, so lines that both have are in one order.
func lineDiff(a, b string) (out []string) {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	left := make(map[string]int)
	for _, l := range y {
		left[l]++
	}
	j := 0
	for _, l := range x {
		if left[l] == 0 {
			out = append(out, "- "+l)
			continue
		}
		for ; j < len(y) && y[j] != l; j++ {
			left[y[j]]--
			out = append(out, "+ "+y[j])
		}
		if j < len(y) {
			left[y[j]]--
			j++
		}
	}
	for ; j < len(y); j++ {
		out = append(out, "+ "+y[j])
	}
	return out
}

// citeConfirmOptions is the command line of cite confirm.
type citeConfirmOptions struct {
	ID        string
	Documents []string
	Reason    string
	trees     treeFlags
}

func newCiteConfirmCmd(env *Env) *cobra.Command {
	var opt citeConfirmOptions
	cmd := &cobra.Command{
		Use:   "confirm ID --reason REASON " + documentsArg,
		Short: "Say that a person read a place whose lines changed, and that the sentence still holds",
		Long: `Confirm writes the present context of a reference to the lock, for each tree in
which it differs, with the reason. It mends nothing else: an anchor that moved
elsewhere, changed or is gone needs a corrected record.`,
		Example: `  ringaudit cite confirm trace-ring-buffer-R12 --reason "only the comment was reworded" --tree linux-7.2.13.tar.xz`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opt.ID, opt.Documents = args[0], args[1:]
			return runCiteConfirm(cmd.Context(), env, opt)
		},
	}
	opt.trees.add(cmd)
	cmd.Flags().StringVar(&opt.Reason, "reason", "", "what was read, and why the sentence still holds")
	return cmd
}

func runCiteConfirm(ctx context.Context, env *Env, opt citeConfirmOptions) error {
	if strings.TrimSpace(opt.Reason) == "" {
		return usagef("--reason is missing: say what was read, and why the sentence still holds")
	}
	res, _, err := opt.trees.check(ctx, env, opt.Documents)
	if err != nil {
		return err
	}
	if res.Counts.Checked == 0 {
		return noTree(res, "any kernel")
	}
	for _, sr := range res.Sets {
		if sr.Set.Record(opt.ID) == nil {
			continue
		}
		lock, done, err := sr.Confirm(opt.ID, opt.Reason)
		if err != nil {
			return exitWith(exitFindings, err)
		}
		if _, err := writeWhole(sr.Set.LockPath, lock.Encode()); err != nil {
			return err
		}
		for _, d := range done {
			fmt.Fprintf(env.Stdout, "confirmed %s\n", d)
		}
		fmt.Fprintf(env.Stdout, "wrote %s\n", sr.Set.LockPath)
		return nil
	}
	return usagef("no record %s in the documents given", opt.ID)
}
