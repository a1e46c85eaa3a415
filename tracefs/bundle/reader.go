package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Kind is what a Reader reads.
type Kind uint8

const (
	// KindBundle has a manifest, and was verified against it.
	KindBundle Kind = iota + 1
	// KindArchive is a tar that somebody made: no manifest, nothing to verify.
	KindArchive
)

func (k Kind) String() string {
	switch k {
	case KindBundle:
		return "bundle"
	case KindArchive:
		return "archive"
	}
	return "unknown"
}

// Limits bounds what a Reader takes from untrusted input. The zero value means
// the defaults.
type Limits struct {
	Files int   // entries of an archive; default 200,000
	Bytes int64 // content after decompression; default 16 GiB
	// Memory is how much content of a compressed archive stays in memory; more
	// goes to a temporary file. Default 32 MiB.
	Memory int64
}

func (l Limits) orDefault() Limits {
	if l.Files <= 0 {
		l.Files = 200_000
	}
	if l.Bytes <= 0 {
		l.Bytes = 16 << 30
	}
	if l.Memory <= 0 {
		l.Memory = 32 << 20
	}
	return l
}

// ErrNotBundle is wrapped by the error of [Open] for input that is no bundle
// and no tar archive.
var ErrNotBundle = errors.New("not a bundle")

// ErrTooBig is wrapped by the error for input that exceeds [Limits].
var ErrTooBig = errors.New("exceeds the limit")

// ErrNotVerified is wrapped by the error for opening a file of a bundle whose
// content is not what the manifest says, or that the manifest does not know.
var ErrNotVerified = errors.New("not verified by the manifest")

// ProblemKind is what is wrong with one file of a bundle or an archive.
type ProblemKind string

const (
	Changed ProblemKind = "changed" // its content is not what the manifest says
	Missing ProblemKind = "missing" // the manifest has it, the bundle does not
	Extra   ProblemKind = "extra"   // the bundle has it, the manifest does not
	Refused ProblemKind = "refused" // an entry that is never unpacked: link, device, path that leaves the archive
	Cut     ProblemKind = "cut"     // the archive ends inside this file, or inside its compression
	Hollow  ProblemKind = "hollow"  // every file of the archive is empty
)

// Problem is one thing that is wrong with a bundle.
type Problem struct {
	Kind ProblemKind
	Path string
	Why  string
}

func (p Problem) String() string {
	return fmt.Sprintf("%s: %s: %s", shorten(p.Path), p.Kind, p.Why)
}

// Reader is an open bundle or archive.
type Reader struct {
	Kind Kind
	// Manifest is nil for an archive.
	Manifest *Manifest
	// Problems is everything that is wrong, by path. A bundle without problems
	// is byte for byte what was written.
	Problems []Problem
	// Entries is how many files can be read.
	Entries int

	fsys  fs.FS
	close func() error
}

// FS is the content, rooted where the manifest is (or at the one folder that
// holds everything, where somebody packed a folder with its name). Its files
// are regular files with their true sizes and implement [io.ReaderAt] and
// [io.Seeker]. The manifest itself is in it.
func (r *Reader) FS() fs.FS { return r.fsys }

// Close gives back the input and the temporary file, if there is one. The FS
// must not be used afterwards.
func (r *Reader) Close() error { return r.close() }

// Open opens the bundle or archive at name, which may be a folder with a
// manifest, a .tar, or a .tar compressed with zstd or gzip. All of it is read
// once, and verified. The errors wrap [ErrNotBundle], [ErrTooBig] or what the
// system said.
func Open(name string, limits Limits) (*Reader, error) {
	limits = limits.orDefault()
	st, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if st.IsDir() {
		return openFolder(name, limits)
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is neither a folder nor a regular file: %w", name, ErrNotBundle)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	r, err := openArchive(f, st.Size(), name, limits)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	release := r.close
	r.close = func() error { return errors.Join(release(), f.Close()) }
	return r, nil
}

// OpenReaderAt opens an archive of size bytes; name is for messages.
func OpenReaderAt(r io.ReaderAt, size int64, name string, limits Limits) (*Reader, error) {
	return openArchive(r, size, name, limits.orDefault())
}

// IsFolder tells whether fsys is an unpacked bundle: a folder with a manifest
// of this schema in it.
func IsFolder(fsys fs.FS) bool {
	f, err := fsys.Open(ManifestName)
	if err != nil {
		return false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 4096))
	return err == nil && bytes.Contains(data, []byte(`"`+Schema+`"`))
}

// IsArchive tells whether a file that begins with head (512 bytes or more,
// where it has them) may be an archive that Open can read: a tar, or something
// compressed with zstd or gzip.
func IsArchive(head []byte) bool { return sniff(head) != formatNone }

// openFolder opens an unpacked bundle. os.Root keeps every access inside it.
func openFolder(name string, limits Limits) (*Reader, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	fail := func(err error) (*Reader, error) { return nil, errors.Join(err, root.Close()) }
	data, err := readManifest(root.FS())
	if errors.Is(err, fs.ErrNotExist) {
		return fail(fmt.Errorf("%s has no %s: %w", name, ManifestName, ErrNotBundle))
	} else if err != nil {
		return fail(fmt.Errorf("%s: %w", name, err))
	}
	m, err := decodeManifest(data)
	if err != nil {
		return fail(fmt.Errorf("%s: %w", name, err))
	}
	r := &Reader{Kind: KindBundle, Manifest: m, close: root.Close}
	if err := r.verify(root.FS(), limits); err != nil {
		return fail(fmt.Errorf("%s: %w", name, err))
	}
	return r, nil
}

// readManifest reads the manifest of fsys, bounded.
func readManifest(fsys fs.FS) ([]byte, error) {
	f, err := fsys.Open(ManifestName)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestName, err)
	}
	if len(data) > maxManifest {
		return nil, fmt.Errorf("%s has more than %d bytes: %w", ManifestName, maxManifest, ErrTooBig)
	}
	return data, nil
}

// verify compares fsys with the manifest and leaves in r.fsys what stands the
// comparison.
func (r *Reader) verify(fsys fs.FS, limits Limits) error {
	listed := make(map[string]File, len(r.Manifest.Files))
	for _, f := range r.Manifest.Files {
		listed[f.Path] = f
	}
	good := map[string]bool{".": true, ManifestName: true}
	bad := make(map[string]string)
	problem := func(kind ProblemKind, name, why string) {
		r.Problems = append(r.Problems, Problem{Kind: kind, Path: name, Why: why})
		bad[name] = why
	}
	found := make(map[string]bool, len(listed))
	entries := 0
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if entries++; entries > limits.Files {
			return fmt.Errorf("more than %d files: %w", limits.Files, ErrTooBig)
		}
		switch {
		case err != nil:
			problem(Refused, name, errorText(err))
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir() || name == ManifestName:
			return nil
		case !d.Type().IsRegular():
			problem(Refused, name, "is a "+typeName(d.Type())+", and a bundle holds regular files only")
			return nil
		}
		want, ok := listed[name]
		if !ok {
			problem(Extra, name, "the manifest does not list it")
			return nil
		}
		found[name] = true
		switch n, sum, err := hashFile(fsys, name, want.Bytes); {
		case err != nil:
			problem(Changed, name, "cannot be read: "+errorText(err))
		case n != want.Bytes:
			problem(Changed, name, fmt.Sprintf("has %s, the manifest says %d bytes", atLeast(n, want.Bytes), want.Bytes))
		case sum != want.SHA256:
			problem(Changed, name, fmt.Sprintf("has sha256 %s, the manifest says %s", sum, want.SHA256))
		default:
			r.Entries++
			for p := name; p != "."; p = path.Dir(p) {
				good[p] = true
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, f := range r.Manifest.Files {
		if !found[f.Path] && bad[f.Path] == "" {
			problem(Missing, f.Path, "the manifest lists it, and it is not there")
		}
	}
	r.sortProblems()
	r.fsys = &verifiedFS{fsys: fsys, good: good, bad: bad}
	return nil
}

func (r *Reader) sortProblems() {
	slices.SortFunc(r.Problems, func(a, b Problem) int {
		if d := strings.Compare(a.Path, b.Path); d != 0 {
			return d
		}
		return strings.Compare(string(a.Kind), string(b.Kind))
	})
}

// hashFile hashes a file, and stops one byte behind the size that is expected.
func hashFile(fsys fs.FS, name string, want int64) (int64, string, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, want+1))
	if err != nil {
		return n, "", err
	}
	return n, hex.EncodeToString(h.Sum(nil)), nil
}

func atLeast(n, want int64) string {
	if n > want {
		return "more"
	}
	return fmt.Sprintf("%d bytes", n)
}

// errorText is an error without the path that stands beside it anyway.
func errorText(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

func typeName(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}

// verifiedFS hands out what the manifest vouches for, and the folders on the
// way to it.
type verifiedFS struct {
	fsys fs.FS
	good map[string]bool
	bad  map[string]string // why not
}

func (v *verifiedFS) Open(name string) (fs.File, error) {
	if why, ok := v.bad[name]; ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("%w: %s", ErrNotVerified, why)}
	}
	if !v.good[name] {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	f, err := v.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	if dir, ok := f.(fs.ReadDirFile); ok {
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return &verifiedDir{ReadDirFile: dir, v: v, path: name}, nil
		}
	}
	return f, nil
}

// verifiedDir lists what Open opens: a walk over the evidence meets evidence only.
type verifiedDir struct {
	fs.ReadDirFile
	v    *verifiedFS
	path string
}

func (d *verifiedDir) ReadDir(n int) ([]fs.DirEntry, error) {
	for {
		list, err := d.ReadDirFile.ReadDir(n)
		got := len(list)
		list = slices.DeleteFunc(list, func(e fs.DirEntry) bool { return !d.v.good[path.Join(d.path, e.Name())] })
		// A part of the list that holds nothing good must not look like its end.
		if n <= 0 || err != nil || got == 0 || len(list) > 0 {
			return list, err
		}
	}
}
