package live

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// heldCommand is a program that was started and stands still at its first
// instruction until it is let go.
//
// It is held the way a debugger holds it (ptrace): stopped by the kernel on its
// return from execve, without a helper whose own system calls would be captured
// too. It is let go by detaching; nothing of the hold stays.
type heldCommand struct {
	cmd     *exec.Cmd
	release chan bool  // true: go; false: kill
	gone    chan error // after the tracer let go of it
	waited  chan error
	ended   bool
}

// errDied is a command that ended before it could be held.
var errDied = errors.New("ended before its first instruction")

// hold starts a command and holds it.
func hold(argv []string, io Stdio) (*heldCommand, error) {
	path, err := exec.LookPath(argv[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return nil, err
	}
	h := &heldCommand{release: make(chan bool), gone: make(chan error, 1), waited: make(chan error, 1)}
	h.cmd = &exec.Cmd{Path: path, Args: argv, Stdin: io.In, Stdout: io.Out, Stderr: io.Err}
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	started := make(chan error)
	go func() {
		// All requests must come from the thread that is the tracer.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := h.start()
		started <- err
		if err != nil {
			return
		}
		if <-h.release {
			h.gone <- unix.PtraceDetach(h.cmd.Process.Pid)
		} else {
			_ = h.cmd.Process.Kill()
			h.gone <- nil
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("%s: %w", argv[0], err)
	}
	return h, nil
}

func (h *heldCommand) start() error {
	if err := h.cmd.Start(); err != nil {
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
			return fmt.Errorf("%w (holding a command needs ptrace, which a container may forbid)", err)
		}
		return err
	}
	pid := h.cmd.Process.Pid
	for {
		var ws unix.WaitStatus
		_, err := unix.Wait4(pid, &ws, unix.WALL, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			_ = h.cmd.Process.Kill()
			return err
		case ws.Stopped():
			// If we are killed now, so is the command: it must not run unseen.
			if err := unix.PtraceSetOptions(pid, unix.PTRACE_O_EXITKILL); err != nil {
				_ = h.cmd.Process.Kill()
				return err
			}
			return nil
		}
		return errDied
	}
}

// pid is the command's process id as this process sees it.
func (h *heldCommand) pid() int { return h.cmd.Process.Pid }

// let lets the command go and waits for its end in the background: done gets
// the error of exec.Cmd.Wait.
func (h *heldCommand) let() (done <-chan error, err error) {
	h.release <- true
	if err := <-h.gone; err != nil {
		_ = h.cmd.Process.Kill()
		return nil, fmt.Errorf("letting the command go: %w", err)
	}
	h.ended = true
	go func() { h.waited <- h.cmd.Wait() }()
	return h.waited, nil
}

// abandon kills a command that was never let go.
func (h *heldCommand) abandon() {
	if h.ended {
		return
	}
	h.ended = true
	h.release <- false
	<-h.gone
	_ = h.cmd.Wait()
}

// exitCode is the command's exit code as a shell gives it.
func exitCode(cmd *exec.Cmd) int {
	st := cmd.ProcessState
	if st == nil {
		return -1
	}
	if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return st.ExitCode()
}

// initialPIDNamespace tells whether this process counts PIDs as the kernel does:
// set_event_pid takes the kernel's own.
func initialPIDNamespace() bool {
	const initialInode = "pid:[4026531836]" // PROC_PID_INIT_INO, include/linux/proc_ns.h
	l, err := os.Readlink("/proc/self/ns/pid")
	return err == nil && strings.TrimSpace(l) == initialInode
}
