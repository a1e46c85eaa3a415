package blueprints

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ringaudit/ringaudit/audit"
)

// evidenceText is the text of a block of section 5: what the audit of the
// evidence in file says, with the arithmetic done. recorded is the path as the
// document names it.
func evidenceText(ctx context.Context, file, recorded string) (string, error) {
	sum, err := HashEvidence(file)
	if err != nil {
		return "", err
	}
	meta, err := readMeta(file)
	if err != nil {
		return "", err
	}
	src := Source{Kind: "evidence", Path: recorded, SHA256: sum, Evidence: meta.Evidence == nil || *meta.Evidence}
	if readback := readbackFile(file); readback != "" {
		return readbackText(readback, src, meta)
	}
	a, err := runAudit(ctx, file)
	if err != nil {
		return "", err
	}
	src.Kernel, src.Arch = kernelOf(a, meta)
	views, err := readViews(ctx, file, a)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(src.marker() + "\n")
	fmt.Fprintf(&b, "\n#### `%s`\n", cell(recorded))
	if s := meta.sentence(); s != "" && len(a.Buffers) > 1 {
		b.WriteString("\n" + strings.TrimSpace(s) + "\n")
	}
	for _, buf := range a.Buffers {
		o := newObservation(buf, meta, src)
		o.views = viewsOf(views, buf, a)
		o.write(&b, len(a.Buffers) > 1)
		if buf.Kind == audit.BufferBPF {
			writeFindings(&b, a.Findings)
		}
	}
	writeProbes(&b, a.Probes)
	for _, s := range a.Sources {
		if s.Coverage == audit.CoverageWhole {
			continue
		}
		b.WriteString("\nNot all of this evidence could be read:\n\n")
		for _, p := range s.Problems {
			fmt.Fprintf(&b, "- %s\n", strings.ReplaceAll(oneLine(p.Message), file, recorded))
		}
	}
	return b.String(), nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// runAudit audits one piece of evidence.
func runAudit(ctx context.Context, files ...string) (*audit.Audit, error) {
	opt := audit.Options{}
	for _, f := range files {
		opt.Sources = append(opt.Sources, audit.Input{Path: f})
	}
	a, err := audit.Run(ctx, opt)
	if err != nil {
		return nil, err
	}
	for _, s := range a.Sources {
		if s.Coverage != audit.CoverageNone {
			return a, nil
		}
	}
	for _, s := range a.Sources {
		for _, p := range s.Problems {
			return nil, errors.New(oneLine(p.Message))
		}
	}
	return nil, audit.ErrNothingRead
}

func kernelOf(a *audit.Audit, meta evidenceMeta) (kernel, arch string) {
	kernel, arch = or(meta.Kernel, meta.KernelRelease), meta.Arch
	for _, s := range a.Sources {
		kernel, arch = or(s.Kernel, kernel), or(s.Arch, arch)
	}
	return kernel, arch
}

// view is one way in which the evidence was read: a text, or raw sub-buffers.
type view struct {
	name string // within the evidence
	*audit.Capture
	buffer string
}

// viewName finds the files of a saved folder that somebody read events from:
// trace, trace.after-reset, trace_pipe.txt, per_cpu/cpu0/trace_pipe_raw, …
var viewName = regexp.MustCompile(`^((trace|snapshot|trace_pipe)(\.[A-Za-z0-9_.-]+)?|per_cpu/cpu\d+/(trace_pipe_raw|snapshot_raw)(\.[A-Za-z0-9_.-]+)?)$`)

// maxViews bounds how many files of one folder are read as views.
const maxViews = 64

// readViews reads the texts and pages of a folder, each by itself; of other
// evidence the captures that the audit found.
func readViews(ctx context.Context, file string, a *audit.Audit) ([]view, error) {
	var out []view
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		for _, b := range a.Buffers {
			for _, c := range b.Captures {
				out = append(out, view{name: or(c.File, filepath.Base(file)), Capture: c, buffer: b.Name})
			}
		}
		return out, nil
	}
	var names []string
	err = filepath.WalkDir(file, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(file, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() && rel != "." && rel != "per_cpu" && !strings.HasPrefix(rel, "per_cpu/") {
			return filepath.SkipDir // another buffer, or another phase
		}
		if d.Type().IsRegular() && viewName.MatchString(rel) {
			names = append(names, rel)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(names, func(a, b string) int { return viewOrder(a, b) })
	if len(names) > maxViews {
		names = names[:maxViews]
	}
	for _, n := range names {
		// The folder gives the geometry that raw pages need.
		va, err := runAudit(ctx, file, filepath.Join(file, filepath.FromSlash(n)))
		if err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			continue // the audit of the folder says what could not be read
		}
		for _, b := range va.Buffers {
			for _, c := range b.Captures {
				out = append(out, view{name: n, Capture: c, buffer: b.Name})
			}
		}
	}
	return out, nil
}

// viewOrder puts trace before trace_pipe before raw pages.
func viewOrder(a, b string) int {
	rank := func(s string) int {
		switch {
		case strings.HasPrefix(s, "per_cpu/"):
			return 3
		case strings.HasPrefix(s, "trace_pipe"):
			return 2
		case strings.HasPrefix(s, "snapshot"):
			return 1
		}
		return 0
	}
	if r := rank(a) - rank(b); r != 0 {
		return r
	}
	return strings.Compare(a, b)
}

// viewsOf are the views of one buffer.
func viewsOf(views []view, buf *audit.Buffer, a *audit.Audit) []view {
	snapshot := func(v view) bool {
		return strings.HasPrefix(v.name, "snapshot") || strings.Contains(v.name, "/snapshot_raw")
	}
	if buf.Kind == audit.BufferSnapshot {
		return slices.DeleteFunc(slices.Clone(views), func(v view) bool { return !snapshot(v) })
	}
	first := slices.IndexFunc(a.Buffers, func(b *audit.Buffer) bool { return b.Kind != audit.BufferSnapshot })
	var out []view
	for _, v := range views {
		if snapshot(v) {
			continue
		}
		if v.buffer == buf.Name || first >= 0 && a.Buffers[first] == buf && !hasBuffer(a, v.buffer) {
			out = append(out, v)
		}
	}
	return out
}

func hasBuffer(a *audit.Audit, name string) bool {
	return slices.ContainsFunc(a.Buffers, func(b *audit.Buffer) bool { return b.Name == name })
}

// readbackFile is the file of a size experiment: what was written to
// buffer_size_kb and what it printed then. "" if the evidence is none.
func readbackFile(file string) string {
	if filepath.Base(file) == "readback.txt" {
		return file
	}
	if f := filepath.Join(file, "readback.txt"); isFile(f) && !isFile(filepath.Join(file, "per_cpu", "cpu0", "stats")) {
		return f
	}
	return ""
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// "wrote 8: buffer_size_kb='11' total='22' cpu0='11'"
var readbackLine = regexp.MustCompile(`^wrote (\d+): buffer_size_kb='(\d+)'`)

// readbackText is the text of a block made from a size experiment: what was
// asked for, what was printed, and what that costs, by arithmetic; a printed
// size that the arithmetic does not give is said.
func readbackText(file string, src Source, meta evidenceMeta) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	src.Kernel, src.Arch = or(meta.Kernel, meta.KernelRelease), meta.Arch
	g, err := geometryOf(meta)
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	var b strings.Builder
	b.WriteString(src.marker() + "\n")
	fmt.Fprintf(&b, "\n#### `%s`\n\n", cell(src.Path))
	fmt.Fprintf(&b, "%s. Each line was written to `buffer_size_kb` and read back. A sub-buffer has %d usable bytes of %d.\n\n",
		machine(src), g.UsableBytes, g.SubbufBytes)
	b.WriteString("| asked for, kB | printed, kB | sub-buffers | usable bytes | memory with the reader page, bytes |\n|---:|---:|---:|---:|---:|\n")
	var differ []string
	n := 0
	for line := range bytes.Lines(data) {
		m := readbackLine.FindSubmatch(bytes.TrimSpace(line))
		if m == nil {
			continue
		}
		n++
		var asked, printed uint64
		if _, err := fmt.Sscan(string(m[1])+" "+string(m[2]), &asked, &printed); err != nil {
			return "", fmt.Errorf("%s: %q: %w", file, line, err)
		}
		grant, err := g.Grant(asked)
		if err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
		fmt.Fprintf(&b, "| %d | %d | %d | %d | %d |\n", asked, printed, grant.Subbufs, grant.UsableBytes, grant.MemoryBytes)
		if printed != grant.SizeKB {
			differ = append(differ, fmt.Sprintf("%d kB asked for, %d printed, %d expected", asked, printed, grant.SizeKB))
		}
	}
	if n == 0 {
		return "", fmt.Errorf("%s: no line \"wrote N: buffer_size_kb='N'\"", file)
	}
	if len(differ) == 0 {
		fmt.Fprintf(&b, "\nAll %d printed sizes are what the arithmetic gives: sub-buffers × usable bytes, in kB, rounded down.\n", n)
	} else {
		fmt.Fprintf(&b, "\n%d of %d printed sizes are not what was granted:\n\n", len(differ), n)
		for _, d := range differ {
			fmt.Fprintf(&b, "- %s\n", d)
		}
	}
	return b.String(), nil
}

// is32 are the architectures whose long has 4 bytes.
var is32 = []string{"i386", "i586", "i686", "x86", "arm", "armv7l", "armv6l", "mips", "ppc", "riscv32"}

// geometryOf is the geometry that a description tells, where the kernel's own
// header_page is not at hand.
func geometryOf(meta evidenceMeta) (audit.Geometry, error) {
	if meta.Arch == "" && meta.HeaderBytes == 0 {
		return audit.Geometry{}, errors.New("neither events/header_page nor the architecture is known, so the size of a sub-buffer is not")
	}
	header := uint64(meta.HeaderBytes)
	if header == 0 {
		header = 16
		if slices.Contains(is32, meta.Arch) {
			header = 12
		}
	}
	page := uint64(meta.PageSize)
	if page == 0 {
		switch {
		case slices.Contains([]string{"x86_64", "s390x"}, meta.Arch), slices.Contains(is32[:4], meta.Arch):
			page = 4096 // these have no other
		default:
			return audit.Geometry{}, fmt.Errorf("the page size of this %s machine is not known", or(meta.Arch, "unnamed"))
		}
	}
	return audit.NewGeometry(page, header, 0)
}

// machine names the kernel and the architecture of a source.
func machine(s Source) string {
	switch {
	case s.Kernel != "" && s.Arch != "":
		return fmt.Sprintf("Linux %s, %s", s.Kernel, s.Arch)
	case s.Kernel != "":
		return "Linux " + s.Kernel
	case s.Arch != "":
		return "Linux on " + s.Arch
	}
	return "A kernel that the evidence does not name"
}
