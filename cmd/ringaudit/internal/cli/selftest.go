package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/ringaudit/ringaudit/tracefs/live"
)

// selftestSchema names the form of doctor --selftest --format json. Within v1
// changes only add.
const selftestSchema = "ringaudit.selftest/v1"

// runSelftest is doctor --selftest: it proves the kernel's accounting with a
// known number of events, in instances of its own.
func runSelftest(env *Env, opt doctorOptions) error {
	outs, err := opt.formats.outputs()
	if err != nil {
		return err
	}
	m, err := tracefsMount(opt.From)
	if err != nil {
		return exitWith(exitUnreadable, err)
	}
	r, err := live.Selftest(m, live.SelftestOptions{})
	if err != nil {
		return exitWith(exitUnreadable, err)
	}
	err = env.write(outs, func(w io.Writer, o output) error {
		if o.Format == "json" {
			return writeJSONLine(w, struct {
				Schema string `json:"schema"`
				OK     bool   `json:"ok"`
				*live.SelftestResult
			}{selftestSchema, r.OK(), r})
		}
		_, err := io.WriteString(w, kernelSelftestText(r))
		return err
	})
	if err != nil {
		return err
	}
	if !r.OK() {
		return exitWith(exitFindings, nil)
	}
	return nil
}

// kernelSelftestText is a table that fits a bug report.
func kernelSelftestText(r *live.SelftestResult) string {
	var b strings.Builder
	verdict := "every count is exact"
	if !r.OK() {
		verdict = "COUNTS DISAGREE"
	}
	fmt.Fprintf(&b, "ringaudit %s selftest: %s\n", Version, verdict)
	fmt.Fprintf(&b, "Linux %s %s, CPU %d, buffer_size_kb %d, sub-buffers of %d bytes, %.1f s\n\n", r.Kernel, r.Arch, r.CPU, r.SizeKB, r.Subbuf, r.Seconds)
	rows := [][]string{{"case", "writes", "EBADF", "kept", "overwritten", "dropped", "header", "got", "numbers", "lost marks", "lost sum", "read", "ok"}}
	for _, c := range r.Cases {
		marks := fmt.Sprint(c.Marks)
		if c.Unnumbered > 0 {
			marks += fmt.Sprintf(" (%d bare)", c.Unnumbered)
		}
		ok := "yes"
		if !c.OK() {
			ok = "NO"
		}
		rows = append(rows, []string{
			c.Name, fmt.Sprint(c.Writes), fmt.Sprint(c.Refused), fmt.Sprint(c.Kept), fmt.Sprint(c.Overwritten), fmt.Sprint(c.Dropped),
			fmt.Sprintf("%d/%d", c.HeaderKept, c.HeaderWritten), fmt.Sprint(c.Got), fmt.Sprintf("%d-%d", c.First, c.Last),
			marks, fmt.Sprint(c.Lost), fmt.Sprint(c.Read), ok,
		})
	}
	writeRightAligned(&b, rows)
	for _, c := range r.Cases {
		for _, w := range c.Wrong {
			fmt.Fprintf(&b, "wrong  %s: %s\n", c.Name, w)
		}
	}
	return b.String()
}
