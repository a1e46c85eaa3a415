package bundle

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"
)

type format uint8

const (
	formatNone format = iota
	formatTar
	formatZstd
	formatGzip
)

// sniff tells an archive's format from its first bytes.
func sniff(head []byte) format {
	switch {
	case len(head) >= 4 && string(head[:4]) == "\x28\xb5\x2f\xfd":
		return formatZstd
	case len(head) >= 3 && string(head[:3]) == "\x1f\x8b\x08":
		return formatGzip
	case len(head) >= 512 && tarHeader(head[:512]):
		return formatTar
	}
	return formatNone
}

// tarHeader tells whether a block is a tar header: its checksum is right.
// (The magic "ustar" is absent from the oldest form.)
func tarHeader(b []byte) bool {
	var sum, signed, stated int64
	for i, c := range b {
		if i >= 148 && i < 156 {
			c = ' '
		}
		sum += int64(c)
		signed += int64(int8(c))
	}
	digits := 0
	for _, c := range b[148:156] {
		switch {
		case c >= '0' && c <= '7':
			stated, digits = stated<<3|int64(c-'0'), digits+1
		case c == ' ' || c == 0:
			if digits > 0 {
				return stated == sum || stated == signed
			}
		default:
			return false
		}
	}
	return digits > 0 && (stated == sum || stated == signed)
}

// openArchive reads an archive once from end to end, and keeps an index of it.
func openArchive(in io.ReaderAt, size int64, name string, limits Limits) (*Reader, error) {
	head := make([]byte, 512)
	n, err := in.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	plain := io.NewSectionReader(in, 0, size)
	var (
		stream io.Reader
		keep   *spool // nil: the content is read again from the input
	)
	switch sniff(head[:n]) {
	case formatTar:
		stream = bufio.NewReaderSize(plain, 1<<16)
	case formatZstd:
		dec, err := zstd.NewReader(plain, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		defer dec.Close()
		stream, keep = dec, newSpool(limits.Memory)
	case formatGzip:
		dec, err := gzip.NewReader(bufio.NewReaderSize(plain, 1<<16))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		stream, keep = dec, newSpool(limits.Memory)
	default:
		return nil, fmt.Errorf("%s is neither tar, tar.zst nor tar.gz: %w", name, ErrNotBundle)
	}

	content, release := in, func() error { return nil }
	if keep != nil {
		content, release = keep, keep.Close
	}
	fail := func(err error) (*Reader, error) { return nil, errors.Join(err, release()) }
	x := &indexer{limits: limits, keep: keep, tree: newTree(content)}
	if err := x.run(stream, size, keep == nil); err != nil {
		return fail(fmt.Errorf("%s: %w", name, err))
	}
	if x.entries == 0 && keep != nil && len(x.problems) == 1 && x.problems[0].Path == "" {
		return fail(fmt.Errorf("%s is compressed, and what is inside is no tar archive (%s): %w", name, x.problems[0].Why, ErrNotBundle))
	}

	x.hollow()
	root := x.tree.rootFS()
	r := &Reader{Kind: KindArchive, Problems: x.problems, Entries: len(x.tree.nodes), fsys: root, close: release}
	data, err := readManifest(root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.Entries = x.entries
		r.sortProblems()
		return r, nil
	case err != nil:
		return fail(fmt.Errorf("%s: %w", name, err))
	}
	m, err := decodeManifest(data)
	if err != nil {
		// A folder of somebody's that happens to hold a manifest.json of its own.
		if !strings.Contains(string(data[:min(len(data), 4096)]), Schema) {
			r.Entries = x.entries
			r.sortProblems()
			return r, nil
		}
		return fail(fmt.Errorf("%s: %w", name, err))
	}
	r.Kind, r.Manifest, r.Entries = KindBundle, m, 0
	if err := r.verify(root, limits); err != nil {
		return fail(fmt.Errorf("%s: %w", name, err))
	}
	return r, nil
}

// indexer walks a tar stream.
type indexer struct {
	limits   Limits
	keep     *spool
	tree     *tree
	problems []Problem
	entries  int
	content  int64
}

// run reads the stream to its end. Damage ends it early and is a Problem; what
// came before it stays readable. Only exceeded limits are an error.
func (x *indexer) run(stream io.Reader, size int64, plain bool) error {
	count := &counter{r: stream}
	tr := tar.NewReader(count)
	headers := 0
	last, end := "", int64(0)
	for {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			x.cut(last, err)
			return nil
		}
		if headers++; headers > x.limits.Files {
			return fmt.Errorf("more than %d entries: %w", x.limits.Files, ErrTooBig)
		}
		last, end = h.Name, count.n+h.Size
		name, why := entryName(h)
		if why != "" {
			x.problems = append(x.problems, Problem{Kind: Refused, Path: h.Name, Why: why})
			continue
		}
		if name == "" { // a folder, or a header that is no file
			continue
		}
		if h.Size > x.limits.Bytes-x.content {
			return fmt.Errorf("%s brings the content to more than %d bytes: %w; unpack the archive yourself and give the folder", shorten(h.Name), x.limits.Bytes, ErrTooBig)
		}
		x.content += h.Size
		n := node{off: count.n, size: h.Size, mode: 0o444}
		switch {
		case plain && h.Size > size-count.n:
			x.cut(h.Name, io.ErrUnexpectedEOF)
			return nil
		case !plain:
			n.off = x.keep.size
			if _, err := io.Copy(x.keep, tr); err != nil {
				if errors.Is(err, errSpool) {
					return err
				}
				x.keep.truncate(n.off)
				x.cut(h.Name, err)
				return nil
			}
		}
		if why := x.tree.add(name, n); why != "" {
			x.problems = append(x.problems, Problem{Kind: Refused, Path: h.Name, Why: why})
			continue
		}
		if x.entries++; len(x.tree.nodes) > x.limits.Files {
			return fmt.Errorf("more than %d files and folders: %w", x.limits.Files, ErrTooBig)
		}
	}
	// A tar ends with blocks of zeros; without them it is anybody's guess how many
	// files are gone.
	if count.n-end < 512 {
		x.cut(last, errors.New("the mark of the end is not there"))
		return nil
	}
	// What stands behind the end of the tar is read too, so that damage there is
	// seen: a checksum of the compression may be all that tells of it.
	if plain {
		return nil
	}
	rest, err := io.Copy(io.Discard, io.LimitReader(stream, x.limits.Bytes))
	if err != nil {
		x.cut(last, err)
	} else if rest == x.limits.Bytes {
		return fmt.Errorf("%d bytes and more behind the end of the archive: %w", rest, ErrTooBig)
	}
	return nil
}

func (x *indexer) cut(name string, err error) {
	x.problems = append(x.problems, Problem{Kind: Cut, Path: name, Why: "the archive is damaged or cut off at or behind this file: " + err.Error()})
}

// hollow recognises an archive that was made of a mounted tracefs: its files
// have no size, and tar stores that much of them.
func (x *indexer) hollow() {
	if x.entries > 1 && x.content == 0 {
		x.problems = append(x.problems, Problem{Kind: Hollow, Path: ".", Why: fmt.Sprintf("all %d files are empty: the files of a mounted tracefs state no size, so that tar stores nothing of them; copy them with cat first, or use ringaudit snapshot", x.entries)})
	}
}

// entryName is the path of a header's file in the tree; why says what forbids
// it. Both are empty for what needs no place: folders and global headers.
func entryName(h *tar.Header) (name, why string) {
	switch h.Typeflag {
	case tar.TypeXGlobalHeader, tar.TypeDir:
		return "", ""
	case tar.TypeReg, '\x00', '7':
	case tar.TypeLink, tar.TypeSymlink:
		return "", fmt.Sprintf("is a link (to %q), and links are not followed", shorten(h.Linkname))
	default:
		return "", fmt.Sprintf("is of type %q, and only regular files are read", string(rune(h.Typeflag)))
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return "", "is a sparse file, which an archive of evidence does not need; pack it with plain tar"
		}
	}
	if h.Size < 0 {
		return "", fmt.Sprintf("has a size of %d bytes", h.Size)
	}
	if strings.HasPrefix(h.Name, "/") {
		return "", "has an absolute path"
	}
	for part := range strings.SplitSeq(h.Name, "/") {
		if part == ".." {
			return "", "has a path with .. in it"
		}
	}
	if clean := path.Clean(h.Name); validName(clean) {
		return clean, ""
	}
	return "", "has a path that is not portable"
}

// counter counts what is read: the offset of a tar entry's data.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// errSpool marks an error of the temporary file, which is not the archive's.
var errSpool = errors.New("cannot unpack")

// spool keeps decompressed content: the first bytes in memory, all of it in a
// temporary file once there are more.
type spool struct {
	memory int64
	buf    []byte
	file   *os.File
	size   int64
}

func newSpool(memory int64) *spool { return &spool{memory: memory} }

func (s *spool) Write(p []byte) (int, error) {
	if s.file == nil && s.size+int64(len(p)) > s.memory {
		f, err := os.CreateTemp("", "ringaudit-*")
		if err != nil {
			return 0, fmt.Errorf("%w: %w", errSpool, err)
		}
		s.file = f
		if _, err := f.Write(s.buf); err != nil {
			return 0, fmt.Errorf("%w: %w", errSpool, err)
		}
		s.buf = nil
	}
	if s.file == nil {
		s.buf = append(s.buf, p...)
		s.size += int64(len(p))
		return len(p), nil
	}
	n, err := s.file.WriteAt(p, s.size)
	s.size += int64(n)
	if err != nil {
		err = fmt.Errorf("%w: %w", errSpool, err)
	}
	return n, err
}

// truncate forgets what stands behind n.
func (s *spool) truncate(n int64) {
	s.size = n
	if s.file == nil {
		s.buf = s.buf[:n]
	}
}

func (s *spool) ReadAt(p []byte, off int64) (int, error) {
	if s.file != nil {
		return s.file.ReadAt(p, off)
	}
	if off >= int64(len(s.buf)) {
		return 0, io.EOF
	}
	n := copy(p, s.buf[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (s *spool) Close() error {
	if s.file == nil {
		return nil
	}
	return errors.Join(s.file.Close(), os.Remove(s.file.Name()))
}
