package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ringaudit/ringaudit/audit"
	"github.com/ringaudit/ringaudit/blueprints"
	"github.com/ringaudit/ringaudit/report"
	"github.com/ringaudit/ringaudit/tracefs"
)

// auditOptions is the command line of audit.
type auditOptions struct {
	Sources        []string
	Type           string
	Before         string
	Attempted      string
	FlightRecorder bool
	Instances      []string
	CPUs           string
	Config         string
	FailOn         string
	Require        string
	All            bool
	ASCII          bool
	MaxHoles       int
	Width          int
	formats        formatFlags
	color          colorFlag
}

func newAuditCmd(env *Env) *cobra.Command {
	var opt auditOptions
	cmd := &cobra.Command{
		Use:   "audit [SOURCE…]",
		Short: "Settle what sources say of a trace's ring buffers, and judge what was lost",
		Long: `Audit reads what the kernel and its readers say about ring buffers, settles the
sources against each other, and answers: what did this trace lose, where, and how
do we know?

A SOURCE is a tracefs folder or a saved copy of one, a bundle, a per_cpu/cpuN/stats
file, the text of trace or trace_pipe, a kernel log with an ftrace dump, raw
sub-buffers, a trace.dat, a ring log in JSONL, or - for standard input. Its type is
found by its content. Several sources of one run are settled against each other;
BUFFER=PATH ties one to a buffer. Without a SOURCE the live tracefs is read, and
nothing in it is consumed or changed.

Exit codes: 0 complete or confirmed; 1 findings at or above --fail-on; 2 usage;
3 could not tell; 4 nothing could be read.`,
		Example: `  ringaudit audit
  ringaudit audit saved-tracefs
  ringaudit audit saved-tracefs trace_pipe.txt --format json
  ringaudit audit trace.dat --format markdown=loss.md --format text`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opt.Sources = args
			return runAudit(cmd.Context(), env, opt)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opt.Type, "type", "", "force the type of every SOURCE: "+kindNames())
	f.StringVar(&opt.Before, "before", "", "the same buffers earlier (SOURCE): only the difference counts")
	f.StringVar(&opt.Attempted, "attempted", "", "known workload: N events in all, or CPU=N,CPU=N")
	f.BoolVar(&opt.FlightRecorder, "flight-recorder", false, "overwriting is intended: is the window that is held whole?")
	f.StringArrayVar(&opt.Instances, "instance", nil, "only the buffer of this name, repeatable (default all)")
	f.StringVar(&opt.CPUs, "cpu", "", "show only these CPUs (0-3,8)")
	f.StringVar(&opt.Config, "config", "", "configuration file (default ringaudit.toml here, if there is one)")
	f.StringVar(&opt.FailOn, "fail-on", string(audit.FailOnLoss), "findings that make the exit code 1: loss (or contradiction), warning, note, never")
	f.StringVar(&opt.Require, "require", "", "confirmed: without an independent count the answer is 'could not tell'")
	f.BoolVar(&opt.All, "all", false, allUsage)
	f.BoolVar(&opt.ASCII, "ascii", false, "text: keep to 7-bit characters")
	f.IntVar(&opt.MaxHoles, "max-holes", audit.DefaultMaxHoles, "list at most this many holes of a CPU (sums are exact all the same)")
	f.IntVar(&opt.Width, "width", 0, widthUsage)
	opt.color.add(f)
	opt.formats.add(cmd, documentFormats())
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(strings.Split(kindNames(), ", "), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("fail-on", cobra.FixedCompletions([]string{"loss", "warning", "note", "never"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("require", cobra.FixedCompletions([]string{"confirmed"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func kindNames() string {
	var names []string
	for _, k := range audit.Kinds() {
		names = append(names, string(k.Kind))
	}
	return strings.Join(names, ", ")
}

// documentFormats are the formats of a document.
func documentFormats() []formatChoice {
	var out []formatChoice
	for _, f := range report.Formats() {
		out = append(out, formatChoice{f.Name, f.Doc})
	}
	return out
}

func runAudit(ctx context.Context, env *Env, opt auditOptions) error {
	outs, err := opt.formats.outputs()
	if err != nil {
		return err
	}
	color, err := opt.color.decide(env)
	if err != nil {
		return err
	}
	if env, err = withWidth(env, opt.Width); err != nil {
		return err
	}
	run, err := opt.options(env)
	if err != nil {
		return err
	}
	a, err := audit.Run(ctx, run)
	if err != nil {
		var usage *audit.UsageError
		if errors.As(err, &usage) {
			return usagef("%v", err)
		}
		return exitWith(exitUnreadable, err)
	}
	return writeDocument(env, report.New(a), outs, renderFlags{Color: color, All: opt.All, ASCII: opt.ASCII})
}

// options turns the command line into an audit.
func (opt auditOptions) options(env *Env) (audit.Options, error) {
	run := audit.Options{
		FlightRecorder: opt.FlightRecorder, Instances: opt.Instances, FailOn: audit.FailOn(opt.FailOn),
		Tool: "ringaudit " + Version, Today: env.Now(), MaxHoles: opt.MaxHoles,
	}
	kind, err := parseKind(opt.Type)
	if err != nil {
		return run, err
	}
	switch opt.Require {
	case "":
	case "confirmed":
		run.RequireConfirmed = true
	default:
		return run, usagef("--require %q: expected confirmed", opt.Require)
	}
	if opt.MaxHoles < 1 {
		return run, usagef("--max-holes %d: expected 1 or more", opt.MaxHoles)
	}
	if run.Attempted, err = parseAttempted(opt.Attempted); err != nil {
		return run, err
	}
	if opt.CPUs != "" {
		if run.CPUs, err = tracefs.ParseCPUList(opt.CPUs); err != nil {
			return run, usagef("--cpu: %v", err)
		}
	}
	if run.Policy, err = loadPolicy(opt.Config); err != nil {
		return run, err
	}
	stdin := 0
	for _, s := range opt.Sources {
		in, err := guardLive(parseSource(s))
		if err != nil {
			return run, err
		}
		in.Type = kind
		if in.Path == "-" {
			if stdin++; stdin > 1 {
				return run, usagef("- (standard input) can be one source only")
			}
			in.Reader = env.Stdin
		}
		run.Sources = append(run.Sources, in)
	}
	if len(opt.Sources) == 0 {
		in, err := liveInput()
		if err != nil {
			return run, err
		}
		run.Sources = append(run.Sources, in)
	}
	if opt.Before != "" {
		in, err := guardLive(parseSource(opt.Before))
		if err != nil {
			return run, err
		}
		run.Before = &in
	}
	return run, nil
}

func parseKind(s string) (audit.Kind, error) {
	if s == "" {
		return audit.KindAuto, nil
	}
	var names []string
	for _, k := range audit.Kinds() {
		if string(k.Kind) == s {
			return k.Kind, nil
		}
		names = append(names, string(k.Kind))
	}
	return "", usagef("--type %q: no such type, did you mean %s? There are %s", s, audit.Nearest(s, names), strings.Join(names, ", "))
}

// parseSource splits BUFFER=PATH. A path that exists as it stands is a path.
func parseSource(s string) audit.Input {
	name, rest, ok := strings.Cut(s, "=")
	if !ok || name == "" || strings.ContainsAny(name, "/\\") {
		return audit.Input{Path: s}
	}
	if _, err := os.Lstat(s); err == nil {
		return audit.Input{Path: s}
	}
	return audit.Input{Path: rest, Buffer: name}
}

// parseAttempted reads N or CPU=N,CPU=N.
func parseAttempted(s string) (map[int]uint64, error) {
	if s == "" {
		return nil, nil
	}
	bad := func(what string) error {
		return usagef("--attempted %q: %s; expected a number of events (3500), or one for each CPU (0=3000,1=500)", s, what)
	}
	out := map[int]uint64{}
	for field := range strings.SplitSeq(s, ",") {
		cpuText, nText, ok := strings.Cut(field, "=")
		cpu := audit.Total
		if ok {
			var err error
			if cpu, err = strconv.Atoi(cpuText); err != nil || cpu < 0 || cpu >= tracefs.MaxCPUs {
				return nil, bad(strconv.Quote(cpuText) + " is no CPU")
			}
		} else {
			nText = cpuText
		}
		n, err := strconv.ParseUint(nText, 10, 64)
		if err != nil {
			return nil, bad(strconv.Quote(nText) + " is no number of events")
		}
		if _, twice := out[cpu]; twice {
			return nil, bad("says the same twice")
		}
		out[cpu] = n
	}
	if _, total := out[audit.Total]; total && len(out) > 1 {
		return nil, bad("mixes a total with CPUs")
	}
	return out, nil
}

// Flags that audit and render share.
var (
	allUsage   = "text, markdown and html: show every CPU, finding and piece of evidence"
	widthUsage = "columns of text (default the terminal's, or " + strconv.Itoa(report.DefaultWidth) + ")"
)

// withWidth is env with the width that --width gives; 0 leaves it as it is.
func withWidth(env *Env, width int) (*Env, error) {
	switch {
	case width < 0:
		return nil, usagef("--width %d: expected a number of columns", width)
	case width == 0:
		return env, nil
	}
	wide := *env
	wide.Width = width
	return &wide, nil
}

// permalink is where a citation stands in the newest kernel that it was checked
// in; empty if it is not one of this project's.
func permalink(id string) string {
	r, ok := blueprints.ShippedRecord(id)
	if !ok {
		return ""
	}
	versions := sortedVersions(r.Links)
	if len(versions) == 0 {
		return ""
	}
	return r.Links[versions[len(versions)-1]]
}

// renderFlags are how the formats for people are shown.
type renderFlags struct {
	Color bool
	All   bool
	ASCII bool
}

// writeDocument writes a document in all formats, and ends with its exit code.
func writeDocument(env *Env, d *report.Document, outs []output, flags renderFlags) error {
	picture := ""
	for _, o := range outs {
		if o.Format == "svg" {
			picture = o.File
		}
	}
	err := env.write(outs, func(w io.Writer, o output) error {
		f, err := report.Lookup(o.Format)
		if err != nil {
			return err
		}
		ro := report.Options{All: flags.All, ASCII: flags.ASCII, Link: permalink}
		if o.File == "" { // a file is the same bytes whatever terminal it was made on
			ro.Width, ro.Color = env.Width, flags.Color
		}
		if o.Format == "markdown" {
			ro.Picture = picture
		}
		return f.Render(w, d, ro)
	})
	if err != nil {
		return err
	}
	return exitWith(d.Exit, nil)
}
