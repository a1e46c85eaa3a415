package live

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringaudit/ringaudit/tracefs"
	"github.com/ringaudit/ringaudit/tracefs/bundle"
)

// finish reads everything out, settles the two sides and writes the bundle.
func (c *capture) finish() error {
	stopped, err := c.inst.statsTexts()
	if err != nil {
		return err
	}
	if err := c.readProbes(); err != nil {
		return err
	}
	if c.set != nil {
		if err := c.settle(); err != nil {
			return err
		}
	}
	if err := c.endCommand(); err != nil {
		return err
	}
	if c.w != nil {
		if err := c.takeRest(); err != nil {
			return err
		}
	}
	after, err := c.inst.statsTexts()
	if err != nil {
		return err
	}
	if err := c.readStats(after); err != nil {
		return err
	}
	c.explainPerCPU()
	if c.log != nil && c.res.Witness != nil {
		if err := c.log.end(c.res.Stop, c.res.Witness); err != nil {
			return err
		}
	}
	if c.w == nil {
		return nil
	}
	return c.writeBundle(stopped, after)
}

// takeRest drains what the buffers still hold.
func (c *capture) takeRest() error {
	subbuf, err := c.subbufBytes()
	if err != nil {
		return err
	}
	cpus, err := c.inst.cpus()
	if err != nil {
		return err
	}
	if c.drain == nil {
		if c.drain, err = c.inst.startDrain(cpus, c.res.SizeKB, filepath.Dir(c.o.Output)); err != nil {
			return err
		}
	}
	c.drain.finish(subbuf)
	// CPUs that came online meanwhile.
	had := map[int]bool{}
	for _, d := range c.drain.cpus {
		had[d.cpu] = true
	}
	var late []int
	for _, cpu := range cpus {
		if !had[cpu] {
			late = append(late, cpu)
		}
	}
	if len(late) > 0 {
		more, err := c.inst.startDrain(late, c.res.SizeKB, filepath.Dir(c.o.Output))
		if err != nil {
			return err
		}
		more.finish(subbuf)
		unix.Close(more.stop)
		c.drain.cpus = append(c.drain.cpus, more.cpus...)
	}
	for _, d := range c.drain.cpus {
		if d.err != nil {
			c.note("cpu %d: its pages were taken in part: %v", d.cpu, d.err)
		}
	}
	return nil
}

// subbufBytes is the size of a sub-buffer of the instance.
func (c *capture) subbufBytes() (int, error) { return c.inst.subbufBytes() }

func (i *Instance) subbufBytes() (int, error) {
	name := filepath.Join(i.Path, "events/header_page")
	b, err := readOnce(name)
	if err != nil {
		name = filepath.Join(i.Mount.Path, "events/header_page")
		b, err = readOnce(name)
	}
	if err != nil {
		return 0, err
	}
	h, err := tracefs.ParseHeaderPage(strings.NewReader(string(b)), name)
	if err != nil {
		return 0, err
	}
	n := h.SubbufSize()
	if n <= 0 || n > 1<<24 {
		return 0, fmt.Errorf("%s: a sub-buffer of %d bytes", name, n)
	}
	return int(n), nil
}

// endCommand sees a command off that is still running.
func (c *capture) endCommand() error {
	if c.held == nil {
		return nil
	}
	if !c.commandEnded {
		c.note("the command was sent SIGTERM when the capture ended")
		_ = c.held.cmd.Process.Signal(unix.SIGTERM)
		select {
		case <-c.command:
			c.commandEnded = true
		case <-time.After(5 * time.Second):
			c.note("the command (PID %d) ignores SIGTERM and was left running", c.held.pid())
			return nil
		}
	}
	code := exitCode(c.held.cmd)
	c.res.ExitCode = &code
	return nil
}

// readStats fills in the result's rows.
func (c *capture) readStats(after map[int][]byte) error {
	for _, cpu := range sortedKeys(after) {
		name := fmt.Sprintf("per_cpu/cpu%d/stats", cpu)
		now, err := tracefs.ParseStats(strings.NewReader(string(after[cpu])), name)
		if err != nil {
			return err
		}
		was, err := tracefs.ParseStats(strings.NewReader(string(c.stats0[cpu])), name)
		if err != nil {
			return err
		}
		n := func(f tracefs.Field[int64]) uint64 { return uint64(f.V) }
		s := CPUStats{
			CPU: cpu, Entries: n(now.Entries), Overrun: n(now.Overrun), CommitOverrun: n(now.CommitOverrun),
			Dropped: n(now.Dropped), Read: n(now.Read),
		}
		s.Written = s.Entries + s.Overrun + s.Read - (n(was.Entries) + n(was.Overrun) + n(was.Read))
		if c.drain != nil {
			for _, d := range c.drain.cpus {
				if d.cpu == cpu {
					s.PageBytes = d.bytes.Load()
				}
			}
		}
		c.res.CPUs = append(c.res.CPUs, s)
	}
	return nil
}

func (c *capture) writeBundle(stopped, after map[int][]byte) error {
	w := c.w
	w.Manifest.Tool = c.o.Tool
	w.Manifest.Phases = []bundle.Phase{{Name: "before", Path: "stats.before"}, {Name: "stopped", Path: "stats.stopped"}, {Name: "after", Path: "."}}
	w.Manifest.Settings = c.settings()
	w.Manifest.Notes = c.res.Notes
	if c.res.NoCount != "" {
		w.NotOpened("witness.json", "no independent count: "+c.res.NoCount)
	}
	errs := []error{
		saveMachine(w),
		c.inst.saveSettings(w, c.targets),
		saveStats(w, "stats.before", c.stats0),
		saveStats(w, "stats.stopped", stopped),
		saveStats(w, ".", after),
		savePages(w, c.drain),
		c.saveProfile(),
		c.saveWitness(),
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return w.Commit()
}

func (c *capture) settings() map[string]string {
	s := map[string]string{
		"events": strings.Join(c.res.Events, " "), "buffer_kb": strconv.Itoa(c.o.BufferKB),
		"mode": map[bool]string{true: "no-overwrite", false: "overwrite"}[c.o.NoOverwrite],
		"stop": string(c.res.Stop), "elapsed": c.res.Elapsed.Round(time.Microsecond).String(),
		"drained": strconv.FormatBool(!c.o.NoDrain),
	}
	if c.held != nil {
		s["command"] = strings.Join(c.o.Command, " ")
		if c.res.ExitCode != nil {
			s["exit"] = strconv.Itoa(*c.res.ExitCode)
		}
	}
	return s
}

// saveProfile keeps the kprobe lines, of the moment at which the witness was read.
func (c *capture) saveProfile() error {
	for f, text := range c.kprobes {
		// Ours only: other people's probes are none of a capture's business.
		var ours strings.Builder
		for line := range strings.Lines(text) {
			for _, t := range c.targets {
				if t.Group == c.inst.group && strings.Contains(line, t.Event) {
					ours.WriteString(line)
				}
			}
		}
		if err := c.w.WriteFile(f, []byte(ours.String())); err != nil {
			return err
		}
	}
	return nil
}

// readProbes reads the lists of kprobes for [capture.saveProfile].
func (c *capture) readProbes() error {
	if len(c.o.Symbols) == 0 {
		return nil
	}
	c.kprobes = map[string]string{}
	for _, f := range []string{"kprobe_profile", "kprobe_events"} {
		b, err := os.ReadFile(filepath.Join(c.m.Path, f))
		if err != nil {
			return err
		}
		c.kprobes[f] = string(b)
	}
	return nil
}

func (c *capture) saveWitness() error {
	if c.res.Witness == nil {
		return nil
	}
	f, err := c.w.Create("witness.json")
	if err != nil {
		return err
	}
	return errors.Join(c.res.Witness.Encode(f), f.Close())
}
