package audit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/ringaudit/ringaudit/tracefs"
	"github.com/ringaudit/ringaudit/tracefs/bundle"
	"github.com/ringaudit/ringaudit/tracefs/ringlog"
)

// part is what one source says of one buffer.
type part struct {
	src *Source
	// buffer is the buffer's name as the source tells it; empty: not told.
	buffer string
	// tie is the name that the user tied the source to; empty: none.
	tie string
	// path of the source, for finding the folder that a text lies in.
	path     string
	snapshot bool // of the buffer, not the buffer itself
	inst     *tracefs.Instance
	counters *Counters
	views    []*Capture // evidence within a folder
	captures []*Capture // sources of their own
	geometry Geometry
	geomFrom string
	clock    string
	tracer   string
	probes   []*Probe
	hasProbe bool // a kprobe_profile was read
	owned    bool // the recorder created the buffer
	ring     *ringLog
	witness  *ringlog.Witness
	// witnessFile is where the witness stands in the source.
	witnessFile string
	lastBoot    bool
	owner       *Buffer // that took the part
}

// sniffBytes is how much of a file decides its kind.
const sniffBytes = 64 << 10

// open reads one source into parts. What goes wrong is in src.Problems; a
// source that gives nothing has CoverageNone.
func open(ctx context.Context, src *Source, in Input) []*part {
	parts := openInput(ctx, src, in)
	for _, p := range parts {
		if in.Buffer != "" {
			p.tie = in.Buffer
		}
		if p.path == "" {
			p.path = in.Path
		}
		if p.inst == nil && len(p.captures) > 0 && isSnapshotName(in.Path) {
			p.snapshot = true // of another ring than trace beside it
		}
	}
	if len(parts) == 0 {
		src.Coverage = CoverageNone
		return nil
	}
	for _, p := range src.Problems {
		if !p.Harmless && src.Coverage == CoverageWhole {
			src.Coverage = CoveragePartial
		}
	}
	return parts
}

// isSnapshotName tells whether a file of this name holds a snapshot: snapshot,
// snapshot_raw, and saved ones such as snapshot.initial.
func isSnapshotName(name string) bool {
	base := filepath.Base(filepath.ToSlash(name))
	return base == "snapshot" || base == "snapshot_raw" || strings.HasPrefix(base, "snapshot.")
}

func openInput(ctx context.Context, src *Source, in Input) []*part {
	switch {
	case in.FS != nil:
		return openFolder(ctx, src, in, in.FS, rootOf(in.Root))
	case in.Reader != nil:
		return openStream(src, in, in.Reader)
	}
	info, err := os.Stat(in.Path)
	if err != nil {
		src.fail(openProblem(in.Path, err))
		return nil
	}
	if info.IsDir() {
		return openFolder(ctx, src, in, os.DirFS(in.Path), ".")
	}
	if !info.Mode().IsRegular() {
		f, err := os.Open(in.Path)
		if err != nil {
			src.fail(openProblem(in.Path, err))
			return nil
		}
		defer f.Close()
		return openStream(src, in, f)
	}
	f, err := os.Open(in.Path)
	if err != nil {
		src.fail(openProblem(in.Path, err))
		return nil
	}
	defer f.Close()
	return openFile(ctx, src, in, f, info.Size())
}

func rootOf(root string) string {
	if root == "" {
		return "."
	}
	return root
}

// fail records a problem of the source.
func (s *Source) fail(p Problem) {
	p.Evidence.Source = s.ID
	s.Problems = append(s.Problems, p)
}

func (s *Source) failf(ev Evidence, truncated bool, format string, args ...any) {
	s.fail(Problem{Evidence: ev, CPU: Total, Truncated: truncated, Message: fmt.Sprintf(format, args...)})
}

// openFile opens a regular file by its content.
func openFile(ctx context.Context, src *Source, in Input, f *os.File, size int64) []*part {
	head := make([]byte, min(size, sniffBytes))
	if n, err := f.ReadAt(head, 0); err != nil && err != io.EOF {
		src.fail(readProblem(in.Path, err))
		return nil
	} else {
		head = head[:n]
	}
	// A file of /proc or tracefs says that it has no bytes and has some.
	if size == 0 {
		rest, err := io.ReadAll(io.LimitReader(f, sniffBytes))
		if err != nil {
			src.fail(readProblem(in.Path, err))
			return nil
		}
		if len(rest) > 0 {
			if isConsumingName(in.Path) {
				src.failf(Evidence{}, false, "%s: a live %s takes the events that it prints out of the buffer; save it to a file first", in.Path, filepath.Base(in.Path))
				return nil
			}
			return openStream(src, in, io.MultiReader(bytes.NewReader(rest), f))
		}
		if cpu, ok := pagesName(in.Path); ok {
			// No page is what a CPU without events leaves.
			src.Kind = KindPages
			src.Notes = append(src.Notes, "the file is empty: no sub-buffer of this CPU was read")
			return []*part{{src: src, captures: []*Capture{{Source: src, Kind: KindPages, Consuming: true, CPU: cpu, PerCPU: map[int]*CaptureCPU{cpu: {Whole: true}}}}}}
		}
		src.failf(Evidence{}, true, "%s: the file is empty, expected %s", in.Path, expectedKinds)
		return nil
	}
	kind := in.Type
	if kind == KindAuto {
		kind = sniff(head, in.Path)
	}
	src.Kind = kind
	if how := compressed(head); how != "" && in.Type == KindAuto && kind != KindBundle {
		src.Kind = ""
		src.failf(Evidence{}, false, "%s: %s", in.Path, how)
		return nil
	}
	hashFile(src, f, size)
	switch kind {
	case KindBundle:
		return openArchive(ctx, src, in, head)
	case KindTraceDat:
		return openTraceDat(ctx, src, in, f, size)
	case KindPages:
		return openPages(src, in, f, size)
	case KindTracefs:
		src.failf(Evidence{}, false, "%s: is a file, expected a tracefs folder", in.Path)
		return nil
	}
	return openStream(src, in, f)
}

const expectedKinds = "a tracefs folder, a bundle, per_cpu/cpuN/stats, text of trace or trace_pipe, a kernel log with an ftrace dump, raw sub-buffers, a trace.dat, or a ring log"

// isConsumingName tells whether a file of this name is consumed by reading it.
func isConsumingName(name string) bool {
	switch filepath.Base(name) {
	case "trace_pipe", "trace_pipe_raw", "snapshot_raw":
		return true
	}
	return false
}

// sniff tells the kind of a file by its first bytes, and where those leave a
// choice by its name.
func sniff(head []byte, name string) Kind {
	switch {
	case bytes.HasPrefix(head, []byte("\x17\x08\x44tracing")):
		return KindTraceDat
	case len(head) >= 3 && head[0] == 0x17 && head[1] == 0x08 && head[2] == 0x44:
		return KindTraceDat // its magic is damaged: the reader says where
	case bundle.IsArchive(head):
		return KindBundle
	case bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n\xef\xbb\xbf"), []byte("{")):
		return KindRinglog
	case strings.HasSuffix(name, ".dat"):
		return KindTraceDat
	}
	if isBinary(head) || strings.HasSuffix(name, "_raw") || isCPUFile(name) {
		return KindPages
	}
	switch tracefs.Sniff(head, path.Base(filepath.ToSlash(name))) {
	case tracefs.KindStats:
		return KindStats
	case tracefs.KindPipe, tracefs.KindReport:
		return KindTracePipe
	case tracefs.KindDmesg:
		return KindDmesg
	case tracefs.KindUnknown, tracefs.KindEmpty:
		return ""
	case tracefs.KindBinary:
		return KindPages
	}
	return KindTrace
}

// isBinary tells whether the bytes are no text: NUL and other control bytes
// that neither the kernel nor an editor puts into one.
func isBinary(head []byte) bool {
	control := 0
	for _, c := range head {
		if c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != 0x1b && c != '\f' && c != '\b' {
			control++
		}
	}
	return control > len(head)/50
}

// pagesName tells whether a file of this name holds raw sub-buffers, and of
// which CPU.
func pagesName(name string) (cpu int, ok bool) {
	if cpu, ok := cpuFileNumber(name); ok {
		return cpu, true
	}
	if strings.HasSuffix(name, "_raw") {
		return cpuOfPath(name)
	}
	return 0, false
}

// isCPUFile tells whether the name is that of a killed recorder's page file:
// OUT.cpuN.
func isCPUFile(name string) bool {
	_, ok := cpuFileNumber(name)
	return ok
}

// openStream opens what can be read from begin to end once: texts, a stats
// file, a ring log.
func openStream(src *Source, in Input, r io.Reader) []*part {
	br := bufio.NewReaderSize(r, sniffBytes)
	head, err := br.Peek(sniffBytes)
	if err != nil && err != io.EOF && !errors.Is(err, bufio.ErrBufferFull) {
		src.fail(readProblem(in.Path, err))
		return nil
	}
	if len(head) == 0 {
		src.failf(Evidence{}, false, "%s: nothing there, expected %s", in.Path, expectedKinds)
		return nil
	}
	kind := in.Type
	if kind == KindAuto {
		kind = sniff(head, in.Path)
	}
	src.Kind = kind
	if how := compressed(head); how != "" && in.Type == KindAuto {
		src.Kind = ""
		src.failf(Evidence{}, false, "%s: %s", in.Path, how)
		return nil
	}
	switch kind {
	case KindStats:
		return openStats(src, in, br)
	case KindTrace, KindTracePipe, KindDmesg:
		return openText(src, in, br)
	case KindRinglog:
		return openRinglog(src, in, br)
	case KindTraceDat, KindPages, KindBundle:
		src.failf(Evidence{}, false, "%s: %s cannot be audited from a stream: give the file", in.Path, streamWord(kind))
		return nil
	}
	src.failf(Evidence{}, false, "%s: unknown format: begins with %q, expected %s; --type forces one", in.Path, tracefs.Shorten(string(head), 40), expectedKinds)
	return nil
}

// openStats opens one per_cpu/cpuN/stats file. Its CPU is that of its path.
func openStats(src *Source, in Input, r io.Reader) []*part {
	st, err := tracefs.ParseStats(r, in.Path)
	if err != nil {
		src.failf(Evidence{}, false, "%s", err)
		return nil
	}
	cpu, told := cpuOfPath(in.Path)
	if !told {
		src.Notes = append(src.Notes, "the path does not tell the CPU of this stats file; it is shown as cpu 0")
	}
	statsProblems(src, st, cpu)
	return []*part{{src: src, counters: &Counters{
		Source: src, Stats: map[int]*tracefs.Stats{cpu: st},
		place: func(_, line int, text string) Evidence { return Evidence{Source: src.ID, Line: line, Text: text} },
	}}}
}

// cpuOfPath finds the CPU that a path speaks of: an element cpuN, as of
// per_cpu/cpuN, else one word cpuN in the file's name (cpu1-trace.txt).
func cpuOfPath(name string) (int, bool) {
	for el := range strings.SplitSeq(filepath.ToSlash(name), "/") {
		if n, ok := strings.CutPrefix(el, "cpu"); ok {
			if cpu, err := parseCPU(n); err == nil {
				return cpu, true
			}
		}
	}
	found := cpuWord.FindAllStringSubmatch(path.Base(filepath.ToSlash(name)), 2)
	if len(found) != 1 {
		return 0, false
	}
	cpu, err := parseCPU(found[0][1])
	return cpu, err == nil
}

var cpuWord = regexp.MustCompile(`(?:^|[^0-9A-Za-z])cpu([0-9]+)(?:$|[^0-9A-Za-z])`)
