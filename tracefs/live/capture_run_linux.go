package live

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ringaudit/ringaudit/tracefs/live/probe"
)

// record lets it run, and stops it.
func (c *capture) record(ctx context.Context) (err error) {
	if c.outer0, err = c.counts(); err != nil {
		return err
	}
	if err := c.inst.Write("tracing_on", "1"); err != nil {
		return err
	}
	began := time.Now()
	if c.inner0, err = c.counts(); err != nil {
		return err
	}
	if c.held != nil {
		if c.command, err = c.held.let(); err != nil {
			return err
		}
	}
	c.res.Stop = c.wait(ctx, began)
	err = c.stop()
	c.res.Elapsed = time.Since(began)
	return err
}

func (c *capture) counts() (probe.Counts, error) {
	if c.set == nil {
		return nil, nil
	}
	return c.set.Counts()
}

// wait waits for the end of the capture.
func (c *capture) wait(ctx context.Context, began time.Time) StopReason {
	var over <-chan time.Time
	if c.o.Duration > 0 {
		t := time.NewTimer(c.o.Duration)
		defer t.Stop()
		over = t.C
	}
	var tick <-chan time.Time
	if c.o.Progress != nil {
		t := time.NewTicker(200 * time.Millisecond)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case <-c.command:
			c.commandEnded = true
			return StopCommand
		case <-over:
			return StopDuration
		case <-ctx.Done():
			return StopInterrupt
		case <-tick:
			c.o.Progress(c.progress(time.Since(began)))
		}
	}
}

func (c *capture) progress(elapsed time.Duration) Progress {
	p := Progress{Elapsed: elapsed}
	if c.drain != nil {
		p.Pages = c.drain.total()
	}
	if c.log != nil {
		p.Records = c.log.written.Load()
	}
	if c.set != nil {
		if n, err := c.set.Counts(); err == nil {
			for _, v := range n {
				p.Hits += v
			}
		}
	}
	return p
}

// stop ends the recording: at once where the counts are bounds; where they are
// to be equal, when the last task of the command is gone.
func (c *capture) stop() (err error) {
	if c.filtered && c.whyBounds == "" {
		c.awaitTasks()
	}
	if c.inner1, err = c.counts(); err != nil {
		return err
	}
	if err := c.inst.Write("tracing_on", "0"); err != nil {
		return err
	}
	c.outer1, err = c.counts()
	return err
}

// awaitTasks waits for the followed tasks to end. A task is off the list when it
// is freed, which is after its last switch: nothing of it can come any more.
func (c *capture) awaitTasks() {
	end := time.Now().Add(c.o.Linger)
	if !c.commandEnded {
		// Interrupted, or time is over: Ctrl-C went to the command as well.
		select {
		case <-c.command:
			c.commandEnded = true
		case <-time.After(map[bool]time.Duration{true: c.o.Linger, false: 0}[c.res.Stop == StopInterrupt]):
			c.whyBounds = "the command was still running when the capture ended"
			return
		}
	}
	if c.set == nil {
		return
	}
	var dead time.Time // since when all that are left are zombies
	for {
		pids, whole, err := c.set.Tasks()
		if err != nil {
			c.whyBounds = "the list of followed tasks cannot be read: " + err.Error()
			return
		}
		if len(pids) == 0 && whole {
			return
		}
		// A zombie that nobody fetches is never freed. It has run its last; what
		// is left of that is over in a moment.
		now := time.Now()
		switch {
		case !whole || !allZombies(pids):
			dead = time.Time{}
		case dead.IsZero():
			dead = now
		case now.Sub(dead) > zombieRest:
			return
		}
		if now.After(end) {
			c.whyBounds = fmt.Sprintf("%d tasks of the command were still there %v after it ended", len(pids), c.o.Linger)
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// zombieRest is how long a task may take from being a zombie to its last switch
// away: do_exit runs without preemption from there on.
const zombieRest = 50 * time.Millisecond

// allZombies tells whether every task has ended (state Z or X of proc(5)) or is
// gone.
func allZombies(pids []uint32) bool {
	for _, pid := range pids {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		_, rest, ok := cutLast(string(b), ")")
		if f := strings.Fields(rest); !ok || len(f) == 0 || (f[0] != "Z" && f[0] != "X") {
			return false
		}
	}
	return true
}
