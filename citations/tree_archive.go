package citations

import (
	"archive/tar"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

// archive is a tarball of a tree, plain or compressed. It streams through:
// only the files that are asked for are kept, nothing is written to disk.
type archive struct {
	spec, file string
	opts       TreeOptions
	size       int64
	sha256     string
	manifest   *manifest // of an extract
}

func (t *Tree) openArchive(file string, opts TreeOptions) {
	t.Kind = "archive"
	fi, err := os.Stat(file)
	if err != nil {
		t.err = &TreeError{Spec: t.Spec, Unreadable: true, Err: err}
		return
	}
	t.src = &archive{spec: t.Spec, file: file, opts: opts, size: fi.Size()}
}

// Limits against archives that are made to harm.
const (
	maxEntries  = 2 << 20   // a kernel tree has 0.09 million
	maxKept     = 1 << 30   // bytes of wanted files, together
	maxDict     = 256 << 20 // of a compressor's window; kernel.org uses 64 MiB
	maxMetaName = 4096
	cacheAbove  = 8 << 20 // smaller archives are as fast as their cache
)

func (a *archive) read(ctx context.Context, n *need, f *found) error {
	if err := a.hash(); err != nil {
		return err
	}
	if a.opts.Cache != "" && a.size > cacheAbove {
		return a.readCached(ctx, n, f)
	}
	return a.readStream(ctx, n, f)
}

func (a *archive) hash() error {
	if a.sha256 != "" {
		return nil
	}
	file, err := os.Open(a.file)
	if err != nil {
		return err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.CopyBuffer(h, file, make([]byte, 1<<20)); err != nil {
		return err
	}
	a.sha256 = hex.EncodeToString(h.Sum(nil))
	return nil
}

func (a *archive) readStream(ctx context.Context, n *need, f *found) error {
	got := make(map[string]bool)
	links := make(map[string]string)
	kept := int64(0)
	take := func(want func(string) bool) error {
		return a.stream(ctx, func(name string, h *tar.Header, r io.Reader) error {
			switch h.Typeflag {
			case tar.TypeDir:
				f.dir(name)
				return nil
			case tar.TypeSymlink, tar.TypeLink:
				if want(name) {
					links[name] = linkTarget(name, h)
				}
				return nil
			case tar.TypeReg:
			default:
				return nil
			}
			f.dir(path.Dir(name))
			f.mark(name)
			if !want(name) {
				return nil
			}
			if h.Size > a.opts.maxFile() {
				return fmt.Errorf("%s claims %d bytes, more than the limit of %d", name, h.Size, a.opts.maxFile())
			}
			if kept += h.Size; kept > maxKept {
				return fmt.Errorf("the files that are asked for have more than %d bytes", int64(maxKept))
			}
			data := make([]byte, h.Size)
			if _, err := io.ReadFull(r, data); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if a.manifest != nil {
				if err := a.manifest.verify(name, data); err != nil {
					return err
				}
			}
			got[name] = true
			return f.file(name, data)
		})
	}
	if err := take(n.wants); err != nil {
		return err
	}
	return a.followLinks(n, links, got, take, f)
}

// followLinks reads, in a second pass, the targets of wanted files that are
// links.
func (a *archive) followLinks(n *need, links map[string]string, got map[string]bool, take func(func(string) bool) error, f *found) error {
	targets := make(map[string][]string)
	for name, target := range links {
		if !got[name] {
			targets[target] = append(targets[target], name)
		}
	}
	if len(targets) == 0 {
		return nil
	}
	orig := f.file
	f.file = func(name string, data []byte) error {
		for _, alias := range targets[name] {
			if err := orig(alias, data); err != nil {
				return err
			}
		}
		return nil
	}
	defer func() { f.file = orig }()
	return take(func(name string) bool { return targets[name] != nil })
}

func linkTarget(name string, h *tar.Header) string {
	if h.Typeflag == tar.TypeSymlink {
		return path.Join(path.Dir(name), h.Linkname)
	}
	return h.Linkname // already cleaned by stream
}

func (a *archive) scan(ctx context.Context, visit func(string, []byte)) error {
	var buf []byte
	return a.stream(ctx, func(name string, h *tar.Header, r io.Reader) error {
		if h.Typeflag != tar.TypeReg || !searchable(name) || h.Size > a.opts.maxFile() {
			return nil
		}
		if int64(cap(buf)) < h.Size {
			buf = make([]byte, h.Size)
		}
		data := buf[:h.Size]
		if _, err := io.ReadFull(r, data); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !isBinary(data) {
			visit(name, data)
		}
		return nil
	})
}

// stream calls entry for everything in the archive, by its name below the top
// folder. It refuses archives with names or links that lead out of the tree,
// and those that unpack to more than the limit.
func (a *archive) stream(ctx context.Context, entry func(name string, h *tar.Header, r io.Reader) error) error {
	file, err := os.Open(a.file)
	if err != nil {
		return err
	}
	defer file.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	plain, done, err := a.decompress(ctx, file)
	if err != nil {
		return err
	}
	defer done()
	lim := &limited{r: plain, left: a.opts.maxBytes(), limit: a.opts.maxBytes()}
	tr := tar.NewReader(bufio.NewReaderSize(lim, 1<<18))
	top := topFolder{}
	for entries := 0; ; entries++ {
		h, err := tr.Next()
		switch {
		case err == io.EOF && entries == 0:
			return fmt.Errorf("the archive is empty")
		case err == io.EOF:
			return lim.drain()
		case err != nil:
			return fmt.Errorf("damaged or not a tar archive, after %d entries: %w", entries, err)
		case entries > maxEntries:
			return fmt.Errorf("more than %d entries", maxEntries)
		case ctx.Err() != nil:
			return ctx.Err()
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		if h.Size > a.opts.maxBytes() {
			return fmt.Errorf("%q claims %d bytes, more than the limit of %d for a tree", short(h.Name), h.Size, a.opts.maxBytes())
		}
		name, err := top.strip(h)
		if err != nil {
			return err
		}
		if name == "" {
			continue
		}
		if name == manifestName && h.Typeflag == tar.TypeReg && a.manifest == nil {
			if a.manifest, err = readManifest(tr, h.Size); err != nil {
				return err
			}
			continue
		}
		if err := entry(name, h, tr); err != nil {
			return err
		}
	}
}

func short(s string) string {
	if len(s) > 120 {
		return s[:120] + "…"
	}
	return s
}

// topFolder strips the folder that holds everything, "linux-6.12/".
type topFolder struct {
	known bool
	name  string // empty: there is none
}

// Names at the top of a kernel tree; an archive whose first entry begins with
// one has no folder around it.
var kernelTops = map[string]bool{"Documentation": true, "LICENSES": true, "arch": true, "block": true, "certs": true, "crypto": true,
	"drivers": true, "fs": true, "include": true, "init": true, "io_uring": true, "ipc": true, "kernel": true, "lib": true, "mm": true,
	"net": true, "rust": true, "samples": true, "scripts": true, "security": true, "sound": true, "tools": true, "usr": true, "virt": true,
	"Makefile": true, "Kbuild": true, "Kconfig": true, "MAINTAINERS": true, "COPYING": true, "CREDITS": true, "README": true, manifestName: true}

func (t *topFolder) strip(h *tar.Header) (string, error) {
	raw := h.Name
	if len(raw) > maxMetaName || len(h.Linkname) > maxMetaName {
		return "", fmt.Errorf("a name of %d bytes", max(len(raw), len(h.Linkname)))
	}
	if path.IsAbs(raw) || strings.ContainsAny(raw, "\\\x00") {
		return "", fmt.Errorf("%q is not a relative path; an archive that would write outside its folder is refused", short(raw))
	}
	for part := range strings.SplitSeq(raw, "/") {
		if part == ".." {
			return "", fmt.Errorf("%q leads out of the archive, which is refused", short(raw))
		}
	}
	name := path.Clean(raw)
	if name == "." {
		return "", nil
	}
	first, rest, nested := strings.Cut(name, "/")
	if !t.known {
		t.known = true
		if !kernelTops[first] && !strings.HasPrefix(first, ".") && (nested || h.Typeflag == tar.TypeDir) {
			t.name = first
		}
	}
	if t.name != "" {
		if first != t.name {
			return "", fmt.Errorf("%q is beside the top folder %q, expected all of the tree below one folder", short(raw), t.name)
		}
		name = rest
	}
	switch h.Typeflag {
	case tar.TypeSymlink:
		to := h.Linkname
		if path.IsAbs(to) || escapes(path.Dir(name), to) {
			return "", fmt.Errorf("the link %q leads out of the archive, to %q, which is refused", short(raw), short(to))
		}
	case tar.TypeLink:
		to := path.Clean(h.Linkname)
		if t.name != "" {
			to = strings.TrimPrefix(to, t.name+"/")
		}
		if path.IsAbs(to) || to == ".." || strings.HasPrefix(to, "../") {
			return "", fmt.Errorf("the link %q leads out of the archive, to %q, which is refused", short(raw), short(h.Linkname))
		}
		h.Linkname = to
	}
	return name, nil
}

// escapes tells whether the target of a link in folder dir leads above the top.
func escapes(dir, to string) bool {
	joined := path.Join(dir, to) // relative: keeps a leading ".."
	return joined == ".." || strings.HasPrefix(joined, "../")
}

// limited ends with an error, not with an early end, when too much is read.
type limited struct {
	r           io.Reader
	left, limit int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("it unpacks to more than %d bytes, the limit for a tree", l.limit)
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

// drain reads what stands behind the end of the tar archive, so that a checksum
// at the end of the compressed stream is verified.
func (l *limited) drain() error {
	_, err := io.Copy(io.Discard, l)
	return err
}
