package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/ringaudit/ringaudit/citations"
)

// citeBlameOptions is the command line of cite blame.
type citeBlameOptions struct {
	ID        string
	Documents []string
	Limit     int
	trees     treeFlags
}

func newCiteBlameCmd(env *Env) *cobra.Command {
	var opt citeBlameOptions
	cmd := &cobra.Command{
		Use:     "blame ID --tree REPOSITORY@REVISION " + documentsArg,
		Short:   "Name the commits that brought, moved or removed the text of a citation",
		Example: `  ringaudit cite blame trace-ring-buffer-R12 --tree ~/linux@v7.2 blueprints`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opt.ID, opt.Documents = args[0], args[1:]
			return runCiteBlame(cmd.Context(), env, opt)
		},
	}
	opt.trees.add(cmd)
	cmd.Flags().IntVarP(&opt.Limit, "limit", "n", 5, "show at most this many commits, newest first")
	return cmd
}

func runCiteBlame(ctx context.Context, env *Env, opt citeBlameOptions) error {
	if opt.Limit < 1 {
		return usagef("-n %d: expected at least 1", opt.Limit)
	}
	pins, err := opt.trees.pins()
	if err != nil {
		return err
	}
	sets, _, err := loadSets(opt.Documents, pins)
	if err != nil {
		return err
	}
	var rec citations.Record
	for _, s := range sets {
		if r := s.Record(opt.ID); r != nil {
			rec = r
		}
	}
	if rec == nil {
		return usagef("no record %s in the documents given", opt.ID)
	}
	trees := opt.trees.open(ctx, env, pins)
	if len(trees) == 0 {
		return exitWith(exitUndecided, errors.New("no tree: give --tree REPOSITORY@REVISION"))
	}
	none := true
	for _, t := range trees {
		commits, err := citations.Blame(ctx, t, rec, opt.Limit)
		if err != nil {
			return treeExit(err)
		}
		for _, c := range commits {
			none = false
			release := c.Release
			if release != "" {
				release = " (" + release + ")"
			}
			fmt.Fprintf(env.Stdout, "%s %s%s %s\n", c.ID[:12], c.Date, release, c.Subject)
		}
	}
	if none {
		return exitWith(exitUndecided, fmt.Errorf("no commit of the history at hand changed how often the text of %s stands in its file (a shallow clone ends early)", opt.ID))
	}
	return nil
}

// treeExit ends with the code that fits the error of a tree.
func treeExit(err error) error {
	var te *citations.TreeError
	if errors.As(err, &te) && !te.Unreadable {
		return exitWith(exitUndecided, err)
	}
	return exitWith(exitUnreadable, err)
}

// citeSelftestOptions is the command line of cite selftest.
type citeSelftestOptions struct {
	Documents []string
	All       bool
	trees     treeFlags
	formats   formatFlags
}

func newCiteSelftestCmd(env *Env) *cobra.Command {
	var opt citeSelftestOptions
	cmd := &cobra.Command{
		Use:   "selftest " + documentsArg,
		Short: "Prove that the gate notices: break each citation in every way, in memory, and ask for the right state",
		Long: `Selftest takes each record that is ok and edits a copy of the tree, in memory: it
deletes the anchor, doubles it, moves it to another function, renames and removes
the file, edits the lines around it, comments it out, switches it off; for
assertions it adds a second setter, a caller, an unguarded use, a line printed, and
so on. Each edit must get the state that fits it.

Exit codes: 0 every edit was caught; 1 one was not; 3 nothing could be tried.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opt.Documents = args
			return runCiteSelftest(cmd.Context(), env, opt)
		},
	}
	opt.trees.add(cmd)
	cmd.Flags().BoolVar(&opt.All, "all", false, "show every edit")
	opt.formats.add(cmd, []formatChoice{{"text", "for a person"}, {"json", "every edit and what the gate said"}})
	return cmd
}

func runCiteSelftest(ctx context.Context, env *Env, opt citeSelftestOptions) error {
	outs, err := opt.formats.outputs()
	if err != nil {
		return err
	}
	pins, err := opt.trees.pins()
	if err != nil {
		return err
	}
	sets, locks, err := loadSets(opt.Documents, pins)
	if err != nil {
		return err
	}
	st, res, err := citations.RunSelfTest(ctx, sets, opt.trees.open(ctx, env, pins), citations.Options{Locks: locks, Pins: pins})
	if err != nil {
		return exitWith(exitUnreadable, err)
	}
	tried, caught, skipped := st.Totals()
	err = env.write(outs, func(w io.Writer, o output) error {
		if o.Format == "json" {
			enc := json.NewEncoder(w)
			enc.SetIndent("", "  ")
			return enc.Encode(map[string]any{"schema": "ringaudit.cite-selftest/v1", "tried": tried, "caught": caught, "skipped": skipped,
				"untested": append([]string{}, st.Untested...), "mutations": st.Mutations})
		}
		return citeSelftestText(w, st, opt.All)
	})
	switch {
	case err != nil:
		return err
	case tried == 0:
		if res.Outcome() == citations.Unreadable {
			return exitWith(exitUnreadable, fmt.Errorf("nothing was tried: %w", firstTreeError(res)))
		}
		return exitWith(exitUndecided, errors.New("nothing was tried: no record is ok in any tree given"))
	case caught < tried:
		return exitWith(exitFindings, nil)
	case len(st.Untested) > 0:
		return exitWith(exitUndecided, fmt.Errorf("%d are not ok to begin with, so nothing was proven of them: cite check", len(st.Untested)))
	}
	return nil
}

func firstTreeError(res *citations.Result) error {
	for _, t := range res.Trees {
		if t.Err() != nil {
			return t.Err()
		}
	}
	return nil
}

func citeSelftestText(w io.Writer, st *citations.SelfTest, all bool) error {
	var b bytes.Buffer
	type line struct{ tried, caught, skipped int }
	by := make(map[string]*line)
	var order []string
	for _, m := range st.Mutations {
		l := by[m.Edit]
		if l == nil {
			l = &line{}
			by[m.Edit] = l
			order = append(order, m.Edit)
		}
		switch {
		case m.Skipped != "":
			l.skipped++
			if all {
				fmt.Fprintf(&b, "skipped  %s in %s: %s: %s\n", m.ID, m.Version, m.Edit, m.Skipped)
			}
			continue
		case m.Caught():
			l.caught++
			if all {
				fmt.Fprintf(&b, "caught   %s in %s: %s: %s\n", m.ID, m.Version, m.Edit, m.Got)
			}
		default:
			fmt.Fprintf(&b, "MISSED   %s in %s: %s: the gate says %s, expected %v: %s\n", m.ID, m.Version, m.Edit, m.Got, m.Want, m.Message)
		}
		l.tried++
	}
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, e := range order {
		l := by[e]
		fmt.Fprintf(tw, "%s\t%d of %d caught", e, l.caught, l.tried)
		if l.skipped > 0 {
			fmt.Fprintf(tw, "\t%d not applicable", l.skipped)
		}
		fmt.Fprintln(tw)
	}
	tw.Flush()
	for _, u := range st.Untested {
		fmt.Fprintf(&b, "not tested, because it is not ok to begin with: %s\n", u)
	}
	tried, caught, skipped := st.Totals()
	share := "0"
	if tried > 0 {
		share = fmt.Sprintf("%.1f", 100*float64(caught)/float64(tried))
		if caught < tried && share == "100.0" {
			share = "99.9"
		}
	}
	fmt.Fprintf(&b, "%d of %d edits caught (%s %%), %d not applicable\n", caught, tried, share, skipped)
	_, err := w.Write(b.Bytes())
	return err
}

// citeExtractOptions is the command line of cite extract.
type citeExtractOptions struct {
	Documents []string
	Out       string
	trees     treeFlags
}

func newCiteExtractCmd(env *Env) *cobra.Command {
	var opt citeExtractOptions
	cmd := &cobra.Command{
		Use:   "extract --tree TREE -o FILE.tar.zst " + documentsArg,
		Short: "Cut a tree to the cited files: a small archive with a manifest of hashes and the origin",
		Long: `Extract writes the files that the documents cite, and what their assertions look
through, to a small archive that can stand for the tree in cite check. Its manifest
names the origin (the SHA-256 of the archive or the commit), so that a pinned
extract proves what the pinned tree would.`,
		Example: `  ringaudit cite extract --tree linux-6.12.117.tar.xz -o linux-6.12.117-cited.tar.zst docs`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opt.Documents = args
			return runCiteExtract(cmd.Context(), env, opt)
		},
	}
	opt.trees.add(cmd)
	cmd.Flags().StringVarP(&opt.Out, "output", "o", "", "the archive to write, NAME.tar.zst")
	return cmd
}

func runCiteExtract(ctx context.Context, env *Env, opt citeExtractOptions) error {
	if opt.Out == "" {
		return usagef("-o is missing: name the archive to write, such as linux-6.12.117-cited.tar.zst")
	}
	if len(opt.trees.Trees) != 1 {
		return usagef("--tree was given %d times: an extract is of one tree", len(opt.trees.Trees))
	}
	pins, err := opt.trees.pins()
	if err != nil {
		return err
	}
	sets, _, err := loadSets(opt.Documents, pins)
	if err != nil {
		return err
	}
	records := 0
	for _, s := range sets {
		records += len(s.Records())
	}
	if records == 0 {
		return exitWith(exitUndecided, errors.New("the documents given have no records, so there is nothing to extract"))
	}
	t := opt.trees.open(ctx, env, pins)[0]
	var buf bytes.Buffer
	n, err := citations.Extract(ctx, &buf, t, sets)
	if err != nil {
		return treeExit(err)
	}
	if _, err := writeWhole(opt.Out, buf.Bytes()); err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "wrote %s: %d files of %s, %d bytes\n", opt.Out, n, t.Version, buf.Len())
	return nil
}

// citeImportOptions is the command line of cite import.
type citeImportOptions struct {
	File, Out string
}

func newCiteImportCmd(env *Env) *cobra.Command {
	var opt citeImportOptions
	cmd := &cobra.Command{
		Use:   "import OLD.refs.toml -o NEW.refs.toml",
		Short: "Turn a refs file of schema 1 into schema 2 and a lock, without loss",
		Long: `Import writes the records of a schema 1 file, comments and order kept, as schema 2
to NEW.refs.toml, and what schema 2 keeps apart (kernel, line, context, confirmed)
to NEW.lock.toml beside it. The old file stays. cite check --fix then fills in what
schema 1 does not know.`,
		Example: `  ringaudit cite import old/trace-ring-buffer.refs.toml -o docs/trace-ring-buffer.refs.toml`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			opt.File = args[0]
			return runCiteImport(env, opt)
		},
	}
	cmd.Flags().StringVarP(&opt.Out, "output", "o", "", "the refs file to write; the lock goes beside it")
	return cmd
}

func runCiteImport(env *Env, opt citeImportOptions) error {
	if !strings.HasSuffix(opt.Out, ".refs.toml") {
		return usagef("-o %q: expected NAME.refs.toml, so that the lock can be NAME.lock.toml", opt.Out)
	}
	lockName := strings.TrimSuffix(opt.Out, ".refs.toml") + ".lock.toml"
	for _, f := range []string{opt.Out, lockName} {
		if _, err := os.Stat(f); err == nil {
			return usagef("%s is there already: import writes over nothing", f)
		}
	}
	data, err := os.ReadFile(opt.File)
	if err != nil {
		return exitWith(exitUnreadable, err)
	}
	refs, lock, err := citations.Import(citations.SetName(opt.Out), filepath.ToSlash(opt.File), data)
	if err != nil {
		return exitWith(exitUnreadable, err)
	}
	if _, err := writeWhole(opt.Out, refs); err != nil {
		return err
	}
	if _, err := writeWhole(lockName, lock.Encode()); err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "wrote %s and %s: %d references\n", opt.Out, lockName, lock.References)
	return nil
}

// citeListOptions is the command line of cite list.
type citeListOptions struct {
	Documents []string
	Config    string
	formats   formatFlags
}

func newCiteListCmd(env *Env) *cobra.Command {
	var opt citeListOptions
	cmd := &cobra.Command{
		Use:   "list " + documentsArg,
		Short: "List the records of documents and where the locks have them; needs no tree",
		RunE: func(_ *cobra.Command, args []string) error {
			opt.Documents = args
			return runCiteList(env, opt)
		},
	}
	cmd.Flags().StringVar(&opt.Config, "config", "", "configuration file with [citations] (default ringaudit.toml here, if there is one)")
	opt.formats.add(cmd, []formatChoice{{"text", "a line for each record"}, {"json", "with permalinks for each version"}})
	return cmd
}

// listed is a record as cite list prints it.
type listed struct {
	ID    string            `json:"id"`
	Kind  string            `json:"kind"`
	Where string            `json:"where"`
	Text  string            `json:"text"`
	Note  string            `json:"note,omitempty"`
	Range string            `json:"range,omitempty"`
	Refs  string            `json:"refs"`
	Line  int               `json:"line"`
	Lines map[string]string `json:"locked,omitempty"` // by version: path:line, or how many places
	Links map[string]string `json:"links,omitempty"`
}

func runCiteList(env *Env, opt citeListOptions) error {
	outs, err := opt.formats.outputs()
	if err != nil {
		return err
	}
	flags := treeFlags{Config: opt.Config}
	pins, err := flags.pins()
	if err != nil {
		return err
	}
	sets, locks, err := loadSets(opt.Documents, pins)
	if err != nil {
		return err
	}
	var all []listed
	bad := 0
	for _, s := range sets {
		bad += len(s.Problems)
		for _, rec := range s.Records() {
			all = append(all, listRecord(s, rec, locks[s.Name], pins))
		}
		for _, p := range s.Problems {
			fmt.Fprintf(env.Stderr, "%s: %s: %s: %s\n", p.At, p.State, p.ID, p.Message)
		}
	}
	err = env.write(outs, func(w io.Writer, o output) error {
		if o.Format == "json" {
			enc := json.NewEncoder(w)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "  ")
			return enc.Encode(append([]listed{}, all...))
		}
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, r := range all {
			fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", r.ID, r.Kind, r.Where, r.Text)
		}
		return tw.Flush()
	})
	switch {
	case err != nil:
		return err
	case bad > 0:
		return exitWith(exitFindings, nil)
	case len(all) == 0:
		return exitWith(exitUndecided, errors.New("no records in the documents given"))
	}
	return nil
}

func listRecord(s *citations.Set, rec citations.Record, lock *citations.Lock, pins *citations.Pins) listed {
	r := listed{ID: rec.RecordID(), Kind: "reference", Note: rec.RecordNote(), Refs: s.Path, Line: rec.RecordLine()}
	since, until := "", ""
	switch x := rec.(type) {
	case *citations.Reference:
		r.Where, r.Text, since, until = x.Path, x.Anchor, x.Since, x.Until
		if x.Symbol != "" {
			r.Where += "#" + x.Symbol
		}
	case *citations.Assertion:
		r.Kind, r.Where, r.Text, since, until = x.Kind, x.Scope, x.Subject, x.Since, x.Until
		if r.Text == "" {
			r.Text = strings.Join(x.Expect, " · ")
		}
	}
	if since != "" {
		r.Range = "since " + since
	}
	if until != "" {
		r.Range = strings.TrimSpace(r.Range + " until " + until)
	}
	r.Lines, r.Links = make(map[string]string), lock.Links(r.ID, pins)
	for _, v := range lock.Versions() {
		e, ok := lock.Entry(r.ID, v)
		switch {
		case !ok:
		case e.Path != "":
			r.Lines[v] = fmt.Sprintf("%s:%d", e.Path, e.Line())
		default:
			r.Lines[v] = fmt.Sprintf("%d places", len(e.Found))
		}
	}
	return r
}
