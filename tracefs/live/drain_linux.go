package live

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// drain takes the pages of an instance's buffers as they fill, one thread per
// CPU, without copying them: splice moves whole sub-buffers from
// per_cpu/cpuN/trace_pipe_raw into a pipe, and from there into a file
// (tracing_buffers_splice_read in kernel/trace/trace.c).
type drain struct {
	cpus  []*cpuDrain
	wg    sync.WaitGroup
	stop  int // eventfd
	ended atomic.Bool
}

// cpuDrain is one CPU's pages: a file without a name, so that nothing is left
// of it whatever happens.
type cpuDrain struct {
	cpu   int
	raw   int // trace_pipe_raw
	pipe  [2]int
	room  int
	size  int64 // bytes of the CPU's buffer
	spool *os.File
	bytes atomic.Uint64
	err   error
}

const pipeBytes = 1 << 20

// startDrain begins to drain the given CPUs. dir is where the pages go.
func (i *Instance) startDrain(cpus []int, sizeKB int64, dir string) (_ *drain, err error) {
	d := &drain{stop: -1}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	if d.stop, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, err
	}
	for _, cpu := range cpus {
		c := &cpuDrain{cpu: cpu, size: sizeKB << 10, raw: -1, pipe: [2]int{-1, -1}}
		d.cpus = append(d.cpus, c)
		if err := c.open(i.Path, dir); err != nil {
			return nil, fmt.Errorf("cpu %d: %w", cpu, err)
		}
	}
	for _, c := range d.cpus {
		d.wg.Add(1)
		go func() {
			defer d.wg.Done()
			c.err = c.run(d.stop, &d.ended)
		}()
	}
	return d, nil
}

func (c *cpuDrain) open(instance, dir string) (err error) {
	name := filepath.Join(instance, "per_cpu", fmt.Sprintf("cpu%d", c.cpu), "trace_pipe_raw")
	if c.raw, err = unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err != nil {
		return &os.PathError{Op: "open", Path: name, Err: err}
	}
	if err := unix.Pipe2(c.pipe[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return os.NewSyscallError("pipe2", err)
	}
	// As large as the machine lets us; the default is 16 pages.
	c.room = pipeBytes
	for c.room > 1<<16 {
		if n, err := unix.FcntlInt(uintptr(c.pipe[1]), unix.F_SETPIPE_SZ, c.room); err == nil {
			c.room = n
			break
		}
		c.room /= 2
	}
	if c.spool, err = os.CreateTemp(dir, ".ringaudit-pages-*"); err != nil {
		return err
	}
	return os.Remove(c.spool.Name())
}

// run takes pages until the end. While pages come it looks by time, so rarely
// that the buffer is a quarter full at most; a reader that lets the kernel wake
// it makes every event a little dearer (rb_wakeups in kernel/trace/ring_buffer.c).
// When nothing comes it lets itself be woken.
func (c *cpuDrain) run(stop int, ended *atomic.Bool) error {
	const least, most = 200 * time.Microsecond, 20 * time.Millisecond
	pause := 2 * time.Millisecond
	took, empty := int64(0), 0 // since the last pause; looks in a row that found nothing
	for {
		last := ended.Load() // before the splice: what is there now is taken
		n, err := unix.Splice(c.raw, nil, c.pipe[1], nil, c.room, unix.SPLICE_F_MOVE|unix.SPLICE_F_NONBLOCK)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err == nil && n > 0:
			if err := c.put(int64(n)); err != nil {
				return err
			}
			took += int64(n)
			empty = 0
			continue
		case err != nil && !errors.Is(err, unix.EAGAIN):
			return fmt.Errorf("taking pages: %w", err)
		case last:
			return nil
		}
		switch quarter := c.size / 4; {
		case took > quarter:
			pause = max(pause/2, least)
		case took < quarter/2:
			pause = min(pause*5/4, most)
		}
		if took == 0 {
			empty++
		}
		took = 0
		if empty > 3 {
			c.wait(stop, true, 100*time.Millisecond)
			pause = 2 * time.Millisecond
			empty = 2
			continue
		}
		c.wait(stop, false, pause)
	}
}

// put moves n bytes from the pipe into the file.
func (c *cpuDrain) put(n int64) error {
	for n > 0 {
		m, err := unix.Splice(c.pipe[0], nil, int(c.spool.Fd()), nil, int(n), unix.SPLICE_F_MOVE)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("writing pages: %w", err)
		case m == 0:
			return fmt.Errorf("writing pages: %w", io.ErrShortWrite)
		}
		n -= int64(m)
		c.bytes.Add(uint64(m))
	}
	return nil
}

// wait waits for a time or for the end, and if woken is set, until the buffer is
// half full (buffer_percent).
func (c *cpuDrain) wait(stop int, woken bool, d time.Duration) {
	fds := []unix.PollFd{{Fd: int32(stop), Events: unix.POLLIN}, {Fd: int32(c.raw), Events: unix.POLLIN}}
	if !woken {
		fds = fds[:1]
	}
	limit := unix.NsecToTimespec(int64(d))
	if _, err := unix.Ppoll(fds, &limit, nil); err != nil && !errors.Is(err, unix.EINTR) {
		time.Sleep(10 * time.Millisecond)
	}
}

// finish takes what is left, after recording has ended: whole pages as before,
// then the page that the writer was on, which only read hands out.
func (d *drain) finish(subbuf int) {
	d.ended.Store(true)
	_, _ = unix.Write(d.stop, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	d.wg.Wait()
	for _, c := range d.cpus {
		if c.err == nil {
			c.err = c.rest(subbuf)
		}
	}
}

func (c *cpuDrain) rest(subbuf int) error {
	buf := make([]byte, subbuf)
	for {
		n, err := unix.Read(c.raw, buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN) || (err == nil && n == 0):
			return nil
		case err != nil:
			return fmt.Errorf("reading the last page: %w", err)
		}
		// The tail of the page is what the kernel zeroed; a page is whole.
		for k := n; k < len(buf); k++ {
			buf[k] = 0
		}
		if _, err := c.spool.Write(buf); err != nil {
			return err
		}
		c.bytes.Add(uint64(len(buf)))
	}
}

// bytes is what was taken so far.
func (d *drain) total() (n uint64) {
	for _, c := range d.cpus {
		n += c.bytes.Load()
	}
	return n
}

func (d *drain) close() {
	if d == nil {
		return
	}
	for _, c := range d.cpus {
		for _, fd := range []int{c.raw, c.pipe[0], c.pipe[1]} {
			if fd >= 0 {
				unix.Close(fd)
			}
		}
		c.raw, c.pipe = -1, [2]int{-1, -1}
		if c.spool != nil {
			c.spool.Close()
			c.spool = nil
		}
	}
	if d.stop >= 0 {
		unix.Close(d.stop)
		d.stop = -1
	}
}
