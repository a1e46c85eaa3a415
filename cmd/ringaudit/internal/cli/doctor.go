package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ringaudit/ringaudit/tracefs"
	"github.com/ringaudit/ringaudit/tracefs/live"
)

// doctorSchema names the form of doctor --format json. Within v1 changes only add.
const doctorSchema = "ringaudit.doctor/v1"

// doctorOptions is the command line of doctor.
type doctorOptions struct {
	From     string
	Selftest bool
	Cleanup  bool
	formats  formatFlags
}

var doctorFormats = []formatChoice{
	{"text", "a list for people"},
	{"json", "one object"},
}

func newDoctorCmd(env *Env) *cobra.Command {
	var opt doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Tell what this machine can show of its ring buffers, and why not",
		Long: `Looks at what ringaudit needs of a machine: the tracefs and the right to read it,
the files of this kernel, eBPF for an independent count. Each is there or missing,
with the reason and what to do. What it makes to try (an instance of its own, eBPF
programs that are not attached) it removes.

Verbs that audit files (audit SOURCE, size, render, blueprint, cite) need none of it.

With --selftest it proves the kernel's accounting instead: a known number of
numbered events, overwriting on and off, read as text and as raw pages, and every
place that counts them held against the others.

Exit codes: 0 a live audit is possible here; 3 it is not. With --selftest: 0 every
count is exact; 1 two of them disagree; 4 it could not be run. With --cleanup: 0 done;
3 something could not be removed; 4 no tracefs.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			switch {
			case opt.Selftest && opt.Cleanup:
				return usagef("--selftest and --cleanup: one at a time")
			case opt.Selftest:
				return runSelftest(env, opt)
			case opt.Cleanup:
				return runCleanup(env, opt)
			}
			return runDoctor(env, opt)
		},
	}
	cmd.Flags().StringVar(&opt.From, "from", "", "the tracefs, where it is mounted elsewhere than usual")
	cmd.Flags().BoolVar(&opt.Selftest, "selftest", false, "prove the kernel's accounting with a known number of events, in instances of its own")
	cmd.Flags().BoolVar(&opt.Cleanup, "cleanup", false, "remove what killed runs of ringaudit left in the tracefs, and nothing else")
	opt.formats.add(cmd, doctorFormats)
	return cmd
}

// runCleanup removes what killed runs have left: it is known by its name, and
// that no running process holds it.
func runCleanup(env *Env, opt doctorOptions) error {
	if _, err := opt.formats.outputs(); err != nil {
		return err
	}
	if len(opt.formats.values) > 0 || opt.formats.file != "" {
		return usagef("--cleanup writes lines, and takes neither --format nor -o")
	}
	mount, err := tracefsMount(opt.From)
	if err != nil {
		return exitWith(exitUnreadable, err)
	}
	left, err := mount.Cleanup()
	stuck := 0
	for _, l := range left {
		what := "removed"
		if !l.Removed {
			stuck++
			what = "not removed: " + l.Why
		}
		if _, err := fmt.Fprintf(env.Stdout, "%s %s: %s\n", l.Kind, l.Name, what); err != nil {
			return err
		}
	}
	switch {
	case err != nil:
		return exitWith(exitUnreadable, err)
	case stuck > 0:
		return exitWith(exitUndecided, fmt.Errorf("%d of %d leftovers are still there", stuck, len(left)))
	case len(left) == 0:
		_, err = fmt.Fprintln(env.Stdout, "nothing was left behind")
	}
	return err
}

// tracefsMount is the live tracefs, or the one at from.
func tracefsMount(from string) (*live.Mount, error) {
	if from == "" {
		return live.Discover()
	}
	return live.At(from)
}

func runDoctor(env *Env, opt doctorOptions) error {
	outs, err := opt.formats.outputs()
	if err != nil {
		return err
	}
	m := thisMachine(env, opt.From)
	d := m.examine()
	err = env.write(outs, func(w io.Writer, o output) error {
		if o.Format == "json" {
			return writeJSONLine(w, d)
		}
		_, err := io.WriteString(w, d.text())
		return err
	})
	if err != nil {
		return err
	}
	if !d.LiveAudit {
		return exitWith(exitUndecided, nil)
	}
	return nil
}

// checkState is what a check found.
type checkState string

const (
	checkOK      checkState = "ok"
	checkMissing checkState = "missing"
	checkUnknown checkState = "unknown" // could not be looked at
)

// check is one thing that ringaudit can use.
type check struct {
	Name  string     `json:"name"`
	State checkState `json:"state"`
	Found string     `json:"found"`            // what is there, or what tells that it is not
	For   string     `json:"for"`              // what it is good for
	Fix   string     `json:"remedy,omitempty"` // what to do about it
}

// diagnosis is what doctor says.
type diagnosis struct {
	Schema string `json:"schema"`
	Tool   string `json:"tool"`
	Kernel string `json:"kernel,omitempty"`
	Arch   string `json:"arch,omitempty"`
	// LiveAudit: audit without a SOURCE works here.
	LiveAudit bool    `json:"live_audit"`
	Checks    []check `json:"checks"`
}

// machine is what doctor looks at; a test gives it another.
type machine struct {
	goos      string
	root      fs.FS // of the file system
	mountPath string
	tracefs   fs.FS // nil: none that can be read
	mountErr  error
	euid      int
	pageBytes int
	abilities []live.Ability // what only trying shows; may be nil
	leftovers []live.Leftover
}

func thisMachine(env *Env, from string) *machine {
	m := &machine{goos: runtime.GOOS, root: os.DirFS("/"), euid: os.Geteuid(), pageBytes: os.Getpagesize()}
	mount, err := tracefsMount(from)
	m.mountErr = err
	if m.mountErr == nil {
		m.mountPath, m.tracefs = mount.Path, tracefs.Guard(mount.FS)
		m.leftovers, _ = mount.Leftovers() // of a tracefs that cannot be read, the other checks tell
	} else {
		mount = nil
	}
	m.abilities = live.Abilities(mount)
	return m
}

// examiner collects checks.
type examiner struct {
	*machine
	d *diagnosis
}

func (e *examiner) add(c check) { e.d.Checks = append(e.d.Checks, c) }

// give adds a check that is ok or missing.
func (e *examiner) give(ok bool, name, purpose, found, missing, fix string) {
	c := check{Name: name, State: checkOK, Found: found, For: purpose}
	if !ok {
		c.State, c.Found, c.Fix = checkMissing, missing, fix
	}
	e.add(c)
}

func (m *machine) examine() *diagnosis {
	d := &diagnosis{Schema: doctorSchema, Tool: "ringaudit " + Version, Checks: []check{}}
	e := &examiner{m, d}
	if m.goos != "linux" {
		e.add(check{Name: "system", State: checkMissing, Found: m.goos, For: "auditing a running kernel", Fix: "take the evidence on a Linux machine (ringaudit snapshot, or its --print-script) and audit it here"})
		return d
	}
	d.Kernel, d.Arch = m.line("proc/sys/kernel/osrelease"), m.line("proc/sys/kernel/arch")
	e.add(check{Name: "kernel", State: checkOK, Found: fmt.Sprintf("%s, pages of %d bytes, CPUs %s online of %s",
		orUnknown(d.Kernel), m.pageBytes, orUnknown(m.line("sys/devices/system/cpu/online")), orUnknown(m.line("sys/devices/system/cpu/possible"))), For: "arithmetic and known differences between kernels"})
	e.rights()
	e.mount()
	if m.tracefs != nil {
		e.counters()
		e.files()
		e.left()
	}
	e.bpf()
	for _, a := range m.abilities {
		e.give(a.OK, a.Name, a.What, a.Why, a.Why, "")
	}
	return d
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// line is the first line of a file of the machine, empty if there is none.
func (m *machine) line(name string) string { return firstLine(m.root, name) }

func firstLine(fsys fs.FS, name string) string {
	f, err := fsys.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	b := make([]byte, 4096)
	n, _ := f.Read(b)
	line, _, _ := strings.Cut(string(b[:n]), "\n")
	return strings.TrimSpace(line)
}

// rights are what the process may do, and what the kernel lets anybody do.
func (e *examiner) rights() {
	e.give(e.euid == 0, "root", "reading tracefs, which is root's by default; capture and watch",
		"user 0", fmt.Sprintf("user %d", e.euid), "run as root (sudo)")
	lockdown := e.line("sys/kernel/security/lockdown")
	_, mode, _ := strings.Cut(lockdown, "[")
	mode, _, _ = strings.Cut(mode, "]")
	switch mode {
	case "":
		e.add(check{Name: "lockdown", State: checkUnknown, Found: "/sys/kernel/security/lockdown is not there: the kernel has no lockdown, or securityfs is not mounted", For: "lockdown=confidentiality forbids tracefs and BPF reads"})
	case "confidentiality":
		e.add(check{Name: "lockdown", State: checkMissing, Found: "confidentiality: the kernel shows neither its trace nor its memory, to root either", For: "tracefs and BPF", Fix: "boot with lockdown=integrity or none"})
	default:
		e.add(check{Name: "lockdown", State: checkOK, Found: mode, For: "lockdown=confidentiality forbids tracefs and BPF reads"})
	}
	if m := strings.Fields(e.line("proc/self/uid_map")); len(m) == 3 && (m[0] != "0" || m[1] != "0" || m[2] != "4294967295") {
		e.add(check{Name: "user-namespace", State: checkMissing, Found: "this process is in a user namespace: its root is no root to tracefs", For: "reading tracefs and loading BPF", Fix: "run outside of the container, or as root of the machine"})
	}
}

// mount is the tracefs itself.
func (e *examiner) mount() {
	const purpose = "everything about the running kernel"
	if e.tracefs != nil {
		e.add(check{Name: "tracefs", State: checkOK, Found: "at " + e.mountPath, For: purpose})
		return
	}
	c := check{Name: "tracefs", State: checkMissing, For: purpose, Found: "not to be found"}
	var me *live.MountError
	switch {
	case errors.As(e.mountErr, &me):
		c.Found, c.Fix = string(me.Reason), me.Hint
		if me.Path != "" {
			c.Found += " at " + me.Path
		}
		if me.Detail != "" {
			c.Found += ": " + me.Detail
		}
	case e.mountErr != nil:
		c.Found = e.mountErr.Error()
	}
	e.add(c)
}

// counters tells whether a live audit is possible: whether stats can be read.
func (e *examiner) counters() {
	in, err := tracefs.ReadInstance(e.tracefs, ".", tracefs.ReadOptions{StatsOnly: true})
	read := 0
	if in != nil {
		for _, c := range in.CPUs {
			if c.Stats != nil && c.Stats.Entries.OK {
				read++
			}
		}
	}
	why := "no per_cpu/cpu*/stats can be read"
	if err != nil {
		why = err.Error()
	} else if len(in.Problems) > 0 {
		why = in.Problems[0].Error()
	}
	e.d.LiveAudit = err == nil && read > 0
	e.give(e.d.LiveAudit, "counters", "the counters of loss: audit, snapshot, watch", fmt.Sprintf("per_cpu/cpu*/stats of %d CPUs", read), why, "run as root; is the kernel locked down?")
}

// files are what this kernel's tracefs offers beyond the counters.
func (e *examiner) files() {
	has := func(name string) bool { _, err := fs.Stat(e.tracefs, name); return err == nil }
	text := func(name string) string { return firstLine(e.tracefs, name) }

	h := "events/header_page"
	_, err := fs.Stat(e.tracefs, h)
	e.give(err == nil, "header-page", "how sub-buffers are cut: sizes, memory, raw pages", h, "no "+h, "mount tracefs whole; a container may hide events/")
	switch ok, why := tracefs.MayRead(e.tracefs, "trace"); {
	case !has("trace"):
		e.give(false, "trace-text", "comparing the counters with what trace shows", "", "no file trace", "")
	default:
		e.give(ok, "trace-text", "comparing the counters with what trace shows", "trace can be read without stopping the recording", why, "")
	}
	e.give(has("instances"), "instances", "capture and doctor --selftest work in an instance of their own", "instances/", "no instances/: this kernel does not have them, or the mount hides them", "")
	e.give(has("events/raw_syscalls/sys_enter"), "events", "captures of events", "events/, raw_syscalls among them", "no events/raw_syscalls/sys_enter", "a kernel with CONFIG_FTRACE_SYSCALLS")
	e.give(has("kprobe_events"), "kprobes", "capture -k, and the misses of probes (kprobe_profile)", "kprobe_events", "no kprobe_events", "a kernel with CONFIG_KPROBE_EVENTS")
	tracers := strings.Fields(text("available_tracers"))
	function := false
	for _, t := range tracers {
		function = function || t == "function"
	}
	const functions = "recordings of functions"
	if _, err := fs.ReadFile(e.tracefs, "set_ftrace_filter"); function && err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.give(false, "function-tracer", functions, "", "it is listed, and set_ftrace_filter cannot be read: "+reasonText(err), "the kernel has shut it off, or forbids it here: see dmesg")
	} else {
		e.give(function, "function-tracer", functions, "available_tracers has it", "available_tracers has "+orUnknown(strings.Join(tracers, " ")), "a kernel with CONFIG_FUNCTION_TRACER")
	}
	e.give(has("snapshot"), "snapshot-buffer", "the spare buffer that a snapshot swaps", "snapshot", "no file snapshot", "a kernel with CONFIG_TRACER_SNAPSHOT")
	e.give(has("buffer_subbuf_size_kb"), "sub-buffer-size", "larger sub-buffers, for events that do not fit a page", "buffer_subbuf_size_kb prints "+orUnknown(text("buffer_subbuf_size_kb")), "no buffer_subbuf_size_kb: sub-buffers are one page", "6.8 and later kernels have it")
	e.give(has("error_log"), "error-log", "the kernel's reason when it refuses a probe or a filter", "error_log", "no error_log", "5.4 and later kernels have it")
	e.give(has("recursed_functions"), "recursed-functions", "events that were refused for recursion, which no counter shows", "recursed_functions", "no recursed_functions: refusals for recursion stay invisible", "a kernel with CONFIG_FTRACE_RECORD_RECURSION")
	if clock := text("trace_clock"); clock != "" {
		_, current, _ := strings.Cut(clock, "[")
		current, _, _ = strings.Cut(current, "]")
		seconds := current != "counter" && current != "uptime" && current != "x86-tsc" && current != "ppc-tb"
		e.give(seconds, "clock", "windows of time in seconds", current, current+" does not count seconds", "write another clock to trace_clock before recording (that resets the buffer)")
	}
}

// left is what killed captures have left behind.
func (e *examiner) left() {
	var names []string
	for _, l := range e.leftovers {
		names = append(names, l.Kind+" "+l.Name)
	}
	e.give(len(names) == 0, "leftovers", "a tracefs without what killed runs of ringaudit left in it", "none",
		strings.Join(names, ", "), "ringaudit doctor --cleanup")
}

// bpf is what an independent count needs, as far as it can be seen without
// trying.
func (e *examiner) bpf() {
	_, err := fs.Stat(e.root, "sys/kernel/btf/vmlinux")
	e.give(err == nil, "btf", "eBPF programs that follow this kernel's structures; blueprints", "/sys/kernel/btf/vmlinux", "no /sys/kernel/btf/vmlinux", "a kernel with CONFIG_DEBUG_INFO_BTF")
	if v := e.line("proc/sys/kernel/unprivileged_bpf_disabled"); v != "" && e.euid != 0 {
		e.give(v == "0", "bpf-unprivileged", "loading eBPF without root", "unprivileged_bpf_disabled is 0", "unprivileged_bpf_disabled is "+v, "run as root, or with CAP_BPF and CAP_PERFMON")
	}
}

// text is the diagnosis for people.
func (d *diagnosis) text() string {
	var b strings.Builder
	if d.LiveAudit {
		b.WriteString("ringaudit audit works here on the running kernel.\n\n")
	} else {
		b.WriteString("ringaudit audit cannot read the running kernel here; audits of files work.\n\n")
	}
	width := 0
	for _, c := range d.Checks {
		width = max(width, len(c.Name))
	}
	for _, c := range d.Checks {
		fmt.Fprintf(&b, "%-8s %-*s  %s\n", c.State, width, c.Name, c.Found)
		if c.State == checkOK {
			continue
		}
		fmt.Fprintf(&b, "%*s  for: %s\n", width+9, "", c.For)
		if c.Fix != "" {
			fmt.Fprintf(&b, "%*s  → %s\n", width+9, "", c.Fix)
		}
	}
	return b.String()
}
