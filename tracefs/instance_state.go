package tracefs

import (
	"io"
	"slices"
	"strings"
)

// state reads the files that are not per CPU.
func (rd *reader) state(root folder) {
	rd.sizes(root)
	rd.settings(root)
	rd.probes(root)
	rd.machine(root)
}

// must reads a file that every instance of every kernel has.
func (rd *reader) must(f folder, name string, parse func(r io.Reader, name string) error) {
	if !rd.file(f, name, parse) {
		rd.in.Missing = append(rd.in.Missing, name)
	}
}

func (rd *reader) sizes(root folder) {
	in := rd.in
	rd.must(root, "buffer_size_kb", func(r io.Reader, name string) (err error) {
		in.Size, err = ParseSize(r, name)
		return err
	})
	rd.must(root, "buffer_total_size_kb", func(r io.Reader, name string) (err error) {
		in.TotalSize, err = ParseSize(r, name)
		return err
	})
	rd.number(root, "buffer_subbuf_size_kb", "the size of a sub-buffer in kB", &in.SubbufKB)
	rd.number(root, "buffer_percent", "a percentage", &in.BufferPercent)
	rd.number(root, "saved_cmdlines_size", "a number of saved task names", &in.SavedCmdlinesSize)

	if !root.has("events") {
		return
	}
	events, err := openFolder(rd.fsys, root.path("events"))
	if err != nil {
		rd.problem(err)
		return
	}
	rd.file(events, "header_page", func(r io.Reader, name string) error {
		h, err := ParseHeaderPage(r, name)
		if err == nil {
			in.HeaderPage = h
			rd.syntax(h.Errors)
		}
		return err
	})
	rd.file(events, "header_event", func(r io.Reader, name string) error {
		h, err := ParseHeaderEvent(r, name)
		if err == nil {
			in.HeaderEvent = h
			rd.syntax(h.Errors)
		}
		return err
	})
}

func (rd *reader) number(f folder, name, expected string, to *Field[int64]) {
	rd.file(f, name, func(r io.Reader, name string) (err error) {
		*to, err = ParseNumber(r, name, expected)
		return err
	})
}

func (rd *reader) settings(root folder) {
	in := rd.in
	rd.must(root, "trace_clock", func(r io.Reader, name string) (err error) {
		in.Clock, err = ParseClock(r, name)
		return err
	})
	rd.must(root, "tracing_on", func(r io.Reader, name string) (err error) {
		in.Tracing, err = ParseBool(r, name)
		return err
	})
	rd.must(root, "trace_options", func(r io.Reader, name string) (err error) {
		in.Options, err = ParseOptions(r, name)
		return err
	})
	rd.optionFolder(root)
	rd.file(root, "current_tracer", func(r io.Reader, name string) (err error) {
		in.Tracer, err = ParseWord(r, name, "a tracer's name")
		return err
	})
	rd.file(root, "timestamp_mode", func(r io.Reader, name string) (err error) {
		mode, err := ParseClock(r, name)
		in.TimestampMode = mode.Current
		return err
	})
	rd.file(root, "tracing_cpumask", func(r io.Reader, name string) (err error) {
		in.CPUMask, err = ParseCPUMask(r, name)
		return err
	})
	rd.file(root, "last_boot_info", func(r io.Reader, name string) error {
		b, err := ParseLastBoot(r, name)
		in.LastBoot = b // the file's presence is what matters most
		rd.syntax(b.Errors)
		return err
	})
	rd.list(root, "set_event_pid", &in.EventPID)
	rd.list(root, "set_event_notrace_pid", &in.EventNotracePID)
	rd.list(root, "set_ftrace_pid", &in.FtracePID)
}

// list keeps the first line of a file that is empty where nothing is set.
// set_ftrace_pid then says "no pid".
func (rd *reader) list(f folder, file string, to *Field[string]) {
	rd.file(f, file, func(r io.Reader, name string) error {
		data, err := readSmall(r, name, "a list")
		if err != nil {
			return err
		}
		for _, l := range splitLines(data) {
			if s := strings.TrimSpace(l.text); s != "" && s != "no pid" {
				*to = fieldOf(name, l, Shorten(s, 200))
				break
			}
		}
		return nil
	})
}

// optionFolder reads options/NAME for the names that trace_options lacks: the
// tracers' own, and all of them where trace_options was not saved.
func (rd *reader) optionFolder(root folder) {
	if !root.has("options") {
		return
	}
	sub, err := openFolder(rd.fsys, root.path("options"))
	if err != nil {
		rd.problem(err)
		return
	}
	names := make([]string, 0, len(sub.entries))
	for name := range sub.entries {
		if isOptionName(name) && !rd.in.Options.Get(name).OK {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		rd.file(sub, name, func(r io.Reader, full string) error {
			v, err := ParseBool(r, full)
			if err == nil {
				rd.in.Options.Set(name, v)
			}
			return err
		})
	}
}

func (rd *reader) probes(root folder) {
	in := rd.in
	list := func(file string, to *Probes) {
		rd.file(root, file, func(r io.Reader, name string) (err error) {
			*to, err = ParseProbes(r, name)
			rd.syntax(to.Errors)
			return err
		})
	}
	list("kprobe_events", &in.Kprobes)
	list("uprobe_events", &in.Uprobes)
	list("dynamic_events", &in.DynamicEvents)
	rd.file(root, "kprobe_profile", func(r io.Reader, name string) (err error) {
		in.KprobeProfile, err = ParseKprobeProfile(r, name)
		rd.syntax(in.KprobeProfile.Errors)
		return err
	})
	rd.file(root, "uprobe_profile", func(r io.Reader, name string) (err error) {
		in.UprobeProfile, err = ParseUprobeProfile(r, name)
		rd.syntax(in.UprobeProfile.Errors)
		return err
	})
	rd.file(root, "error_log", func(r io.Reader, name string) (err error) {
		in.ErrorLog, err = ParseErrorLog(r, name)
		return err
	})
}

// machine reads what a saved copy may hold beside the tracefs files.
func (rd *reader) machine(root folder) {
	in := rd.in
	rd.file(root, "cpu-online", func(r io.Reader, name string) (err error) {
		in.Online, err = ParseCPUListFile(r, name)
		return err
	})
	rd.file(root, "cpu-possible", func(r io.Reader, name string) (err error) {
		in.Possible, err = ParseCPUListFile(r, name)
		return err
	})
	rd.number(root, "pagesize", "the size of a page in bytes", &in.PageSize)
	rd.file(root, "uname-a", func(r io.Reader, name string) (err error) {
		in.Uname, err = ParseUname(r, name)
		return err
	})
	rd.file(root, "proc-version", func(r io.Reader, name string) (err error) {
		in.ProcVersion, err = ParseProcVersion(r, name)
		return err
	})
	rd.file(root, "proc-cmdline", func(r io.Reader, name string) (err error) {
		in.ProcCmdline, err = ParseWord(r, name, "the kernel's command line")
		return err
	})
}

// Kernel is what is known about the kernel, from uname -a and /proc/version.
func (in *Instance) Kernel() Kernel {
	k := in.Uname
	if !k.Release.OK {
		k.Release = in.ProcVersion.Release
	}
	if !k.Version.OK {
		k.Version = in.ProcVersion.Version
	}
	return k
}

// LongSize is the size of the kernel's long in bytes, 4 or 8, from header_page or
// else from the machine's name; 0 if neither tells.
func (in *Instance) LongSize() int {
	if n := in.HeaderPage.LongSize(); n != 0 {
		return n
	}
	return in.Kernel().LongSize()
}
