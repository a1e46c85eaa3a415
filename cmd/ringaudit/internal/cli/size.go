package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringaudit/ringaudit/audit"
)

// sizeOptions is the command line of size.
type sizeOptions struct {
	Request    string
	PageSize   string
	Header     uint64
	SubbufKB   uint64
	From       []string
	Hold       string
	TargetLoss string
	Instances  []string
	formats    formatFlags
	// geometryGiven: a flag says how sub-buffers are cut.
	geometryGiven bool
}

// sizeFormats are the formats of size.
var sizeFormats = []formatChoice{
	{"text", "a table and what it rests on"},
	{"json", "one object on one line"},
}

func newSizeCmd(env *Env) *cobra.Command {
	var opt sizeOptions
	cmd := &cobra.Command{
		Use:   "size {--request SIZE | --from SOURCE}",
		Short: "Work out buffer sizes: what a request is granted, and what would have lost nothing",
		Long: `Without evidence, size does the kernel's arithmetic: what a CPU gets for SIZE
written to buffer_size_kb, what the kernel prints then, and what it costs.

With --from, it works out from the counters of a recording how large the buffer
would have had to be: to hold the last SECONDS (--hold), and to lose nothing
(--target-loss none, the default without --hold). It says what that rests on, and
nothing where the evidence says nothing.`,
		Example: `  ringaudit size --request 8K
  ringaudit size --request 1M --page-size 64K --format json
  ringaudit size --from saved-tracefs --hold 10`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range []string{"page-size", "header", "subbuf-kb"} {
				opt.geometryGiven = opt.geometryGiven || cmd.Flags().Changed(name)
			}
			return runSize(cmd.Context(), env, opt)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opt.Request, "request", "", "size for each CPU, in kB as the kernel takes it; K, M and G after it are KiB, MiB, GiB")
	f.StringVar(&opt.PageSize, "page-size", "4096", "the machine's page size in bytes (4096, 16K, 64K)")
	f.Uint64Var(&opt.Header, "header", 16, "header of a sub-buffer in bytes: 16, or 12 on a 32-bit kernel")
	f.Uint64Var(&opt.SubbufKB, "subbuf-kb", 0, "sub-buffer size written to buffer_subbuf_size_kb, 0: one page")
	f.StringArrayVar(&opt.From, "from", nil, "evidence of a recording: folder, bundle, stats file, trace.dat; may be repeated")
	f.StringVar(&opt.Hold, "hold", "", "with --from: seconds of history that the buffer should hold (10, 0.5, 2m)")
	f.StringVar(&opt.TargetLoss, "target-loss", "", "with --from: the loss that is accepted; none is the only value")
	f.StringArrayVar(&opt.Instances, "instance", nil, "with --from: only the buffer of this name; may be repeated")
	opt.formats.add(cmd, sizeFormats)
	_ = cmd.RegisterFlagCompletionFunc("target-loss", cobra.FixedCompletions([]string{"none"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func runSize(ctx context.Context, env *Env, opt sizeOptions) error {
	outs, err := opt.formats.outputs()
	if err != nil {
		return err
	}
	if opt.TargetLoss != "" && opt.TargetLoss != "none" {
		return usagef("--target-loss %q: expected none", opt.TargetLoss)
	}
	page, err := parsePageSize(opt.PageSize)
	if err != nil {
		return err
	}
	g, err := audit.NewGeometry(page, opt.Header, opt.SubbufKB)
	if err != nil {
		return usagef("%v", err)
	}
	var request uint64
	if opt.Request != "" {
		if request, err = parseRequest(opt.Request); err != nil {
			return err
		}
	}
	switch {
	case len(opt.From) > 0:
		return runSizeFrom(ctx, env, opt, outs, g, request)
	case opt.Request == "":
		return usagef("give --request SIZE or --from SOURCE")
	case opt.Hold != "" || opt.TargetLoss != "" || len(opt.Instances) > 0:
		return usagef("--hold, --target-loss and --instance need evidence: --from SOURCE")
	}
	grant, err := g.Grant(request)
	if err != nil {
		return usagef("--request %s: %v", opt.Request, err)
	}
	if opt.SubbufKB > 0 && opt.SubbufKB<<10 != g.SubbufBytes {
		fmt.Fprintf(env.Stderr, "ringaudit: the kernel rounds sub-buffers of %d kB up to %d kB\n", opt.SubbufKB, g.SubbufBytes>>10)
	}
	return env.write(outs, func(w io.Writer, o output) error {
		if o.Format == "json" {
			return writeJSONLine(w, grantJSON{
				RequestKB: grant.RequestKB, PageBytes: g.PageBytes, HeaderBytes: g.HeaderBytes, UsableBytes: g.UsableBytes,
				Subbufs: grant.Subbufs, SizeKB: grant.SizeKB, MemoryBytes: grant.MemoryBytes,
			})
		}
		_, err := io.WriteString(w, grantText(g, grant))
		return err
	})
}

// grantJSON is the one flat object of size --request.
type grantJSON struct {
	RequestKB   uint64 `json:"request_kb"`
	PageBytes   uint64 `json:"page_bytes"`
	HeaderBytes uint64 `json:"header_bytes"`
	UsableBytes uint64 `json:"usable_bytes"` // of one sub-buffer
	Subbufs     uint64 `json:"subbufs"`      // the reader page is not counted
	SizeKB      uint64 `json:"size_kb"`      // as the kernel prints it
	MemoryBytes uint64 `json:"memory_bytes"` // with the reader page
}

func writeJSONLine(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", b)
	return err
}

func grantText(g audit.Geometry, grant audit.Grant) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-9s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("asked", "%s kB for each CPU", group(grant.RequestKB))
	line("granted", "%s sub-buffers of %s bytes, %s of each usable: %s bytes for records",
		group(grant.Subbufs), group(g.SubbufBytes), group(g.UsableBytes), group(grant.UsableBytes))
	line("prints", "%s in buffer_size_kb (kernels that store what was asked for print %s: most before 6.1)", group(grant.SizeKB), group(grant.RequestKB))
	line("costs", "%s bytes for each CPU, reader page included; a snapshot costs the same again", group(grant.MemoryBytes))
	line("not in it", "the kernel's list of sub-buffers (64 bytes for each on x86_64), and one spare sub-buffer once trace_pipe_raw was read")
	return b.String()
}

// group writes a number with its thousands apart.
func group(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// parseRequest reads a size as the kernel takes it, in kB, or with a unit.
func parseRequest(s string) (uint64, error) {
	digits := strings.TrimRight(s, "KkMmGgiBb")
	shift := uint(0)
	switch unit := strings.ToLower(s[len(digits):]); unit {
	case "", "k", "kb", "kib":
	case "m", "mb", "mib":
		shift = 10
	case "g", "gb", "gib":
		shift = 20
	default:
		return 0, usagef("--request %q: the kernel takes kB: expected a whole number, alone or with K, M or G after it", s)
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || digits != strings.TrimLeft(digits, "+-") {
		return 0, usagef("--request %q: the kernel takes kB: expected a whole number, alone or with K, M or G after it", s)
	}
	if n > math.MaxUint64>>shift {
		return 0, usagef("--request %q is more than a kernel can address", s)
	}
	return n << shift, nil
}

// parsePageSize reads a page size in bytes, or with K after it.
func parsePageSize(s string) (uint64, error) {
	digits := strings.TrimRight(s, "kK")
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || len(s)-len(digits) > 1 {
		return 0, usagef("--page-size %q: expected bytes, 4096, 16K or 64K", s)
	}
	if len(digits) < len(s) {
		n <<= 10
	}
	return n, nil
}

// parseHold reads seconds ("10", "0.5") or a Go duration ("2m30s").
func parseHold(s string) (time.Duration, error) {
	bad := usagef("--hold %q: expected seconds (10, 0.5) or a duration (2m30s), more than 0 and less than a year", s)
	if d, err := time.ParseDuration(s); err == nil {
		if d <= 0 || d > 365*24*time.Hour {
			return 0, bad
		}
		return d, nil
	}
	if strings.Trim(s, "0123456789.") != "" || strings.Count(s, ".") > 1 || len(s) > 30 {
		return 0, bad
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return 0, bad
	}
	r.Mul(r, new(big.Rat).SetInt64(int64(time.Second)))
	ns := new(big.Int).Quo(r.Num(), r.Denom())
	if ns.Sign() <= 0 || ns.Cmp(big.NewInt(int64(365*24*time.Hour))) > 0 {
		return 0, bad
	}
	return time.Duration(ns.Int64()), nil
}

// runSizeFrom sizes from evidence.
func runSizeFrom(ctx context.Context, env *Env, opt sizeOptions, outs []output, g audit.Geometry, request uint64) error {
	want := audit.SizingOptions{NoLoss: opt.TargetLoss == "none" || opt.Hold == ""}
	if opt.Hold != "" {
		var err error
		if want.Hold, err = parseHold(opt.Hold); err != nil {
			return err
		}
	}
	// What the sources do not tell may be given; it never replaces what they tell.
	if request > 0 || opt.geometryGiven {
		want.Geometry, want.RequestKB = g, request
	}
	run, err := auditOptions{Sources: opt.From, Instances: opt.Instances, MaxHoles: audit.DefaultMaxHoles}.options(env)
	if err != nil {
		return err
	}
	run.Policy = nil // a budget for loss is no budget for memory
	a, err := audit.Run(ctx, run)
	var usage *audit.UsageError
	switch {
	case errors.As(err, &usage):
		return usagef("%v", err)
	case err != nil:
		return exitWith(exitUnreadable, err)
	}
	partial := false
	for _, s := range a.Sources {
		for _, p := range s.Problems {
			if !p.Harmless {
				partial = true
				fmt.Fprintf(env.Stderr, "ringaudit: %s\n", p.Message)
			}
		}
	}
	if a.Exit == exitUnreadable {
		return exitWith(exitUnreadable, errors.New("none of the sources could be read"))
	}
	var sized []audit.BufferSizing
	for _, b := range a.Buffers {
		if b.Kind == audit.BufferRing && b.HasCounters() {
			sized = append(sized, b.Sizing(want))
		}
	}
	if len(sized) == 0 {
		return exitWith(exitUndecided, errors.New("no source has the counters (per_cpu/cpu*/stats) of a buffer, and a text does not tell what a buffer needs"))
	}
	err = env.write(outs, func(w io.Writer, o output) error {
		if o.Format == "json" {
			return writeSizingJSON(w, want, sized)
		}
		return writeSizingText(w, want, sized)
	})
	if err != nil {
		return err
	}
	open := func(n *audit.Need) bool { return n != nil && n.RequestKB == 0 }
	if partial || slices.ContainsFunc(sized, func(s audit.BufferSizing) bool { return open(s.Hold) || open(s.NoLoss) }) {
		return exitWith(exitUndecided, nil)
	}
	return nil
}
