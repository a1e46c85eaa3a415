package bundle

import (
	"archive/tar"
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Writer collects a bundle beside the place where it is to be, and puts it
// there in one step. Its methods may be called from several goroutines at once.
//
//	w, err := bundle.Create("run.tar.zst")
//	if err != nil { … }
//	defer w.Abort()                        // does nothing after Commit
//	w.Manifest.Phases = …
//	f, err := w.Create("before/per_cpu/cpu0/stats")
//	…
//	return w.Commit()
type Writer struct {
	// Manifest is written by Commit. The caller fills in everything but Schema
	// and Files; NotOpened also grows by [Writer.NotOpened].
	Manifest Manifest

	target string
	tmp    string // the folder that is being filled

	mu    sync.Mutex
	files map[string]*File // nil while the file is being written
	done  bool
}

// Create begins a bundle at name: an archive if name ends in .tar or .tar.zst,
// else a folder. It refuses a name that exists already, with an error that
// wraps [fs.ErrExist]. Until Commit there is only a hidden folder
// (.NAME.partial-*) beside it.
func Create(name string) (*Writer, error) {
	if _, err := os.Lstat(name); err == nil {
		return nil, fmt.Errorf("%s: %w; give another name or remove it first", name, fs.ErrExist)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	dir, base := filepath.Split(filepath.Clean(name))
	if dir == "" {
		dir = "."
	}
	tmp, err := os.MkdirTemp(dir, "."+base+".partial-*")
	if err != nil {
		return nil, fmt.Errorf("no place for bundle %s: %w", name, err)
	}
	return &Writer{target: filepath.Clean(name), tmp: tmp, files: make(map[string]*File)}, nil
}

// Create begins a file. name is slash-separated and relative, and each name can
// be written once. The file is part of the bundle when it is closed without an
// error; Commit fails while one is open.
func (w *Writer) Create(name string) (io.WriteCloser, error) {
	if !validName(name) || name == ManifestName {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrInvalid}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrClosed}
	}
	if _, ok := w.files[name]; ok {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	local, err := filepath.Localize(name)
	if err != nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: err}
	}
	local = filepath.Join(w.tmp, local)
	if err := os.MkdirAll(filepath.Dir(local), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(local, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	w.files[name] = nil
	return &fileWriter{w: w, name: name, f: f, sum: sha256.New()}, nil
}

// WriteFile writes a whole file.
func (w *Writer) WriteFile(name string, data []byte) error {
	f, err := w.Create(name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// NotOpened adds to the manifest that path, of the tracefs that the evidence is
// taken from, was not read, and why.
func (w *Writer) NotOpened(path, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Manifest.NotOpened = append(w.Manifest.NotOpened, NotOpened{Path: path, Why: why})
}

// fileWriter hashes what goes through it.
type fileWriter struct {
	w    *Writer
	name string
	f    *os.File
	sum  hash.Hash
	n    int64
	err  error
}

func (f *fileWriter) Write(p []byte) (int, error) {
	n, err := f.f.Write(p)
	f.sum.Write(p[:n])
	f.n += int64(n)
	if err != nil && f.err == nil {
		f.err = err
	}
	return n, err
}

func (f *fileWriter) Close() error {
	if err := f.f.Close(); err != nil && f.err == nil {
		f.err = err
	}
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	if f.err == nil && f.w.files[f.name] == nil {
		f.w.files[f.name] = &File{Path: f.name, Bytes: f.n, SHA256: hex.EncodeToString(f.sum.Sum(nil))}
	}
	return f.err
}

// Commit writes the manifest and puts the bundle in its place. After an error
// nothing is there under the bundle's name, and what was collected is gone.
func (w *Writer) Commit() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return fmt.Errorf("bundle %s: %w", w.target, fs.ErrClosed)
	}
	w.done = true
	if err := w.commit(); err != nil {
		return errors.Join(fmt.Errorf("bundle %s was not written: %w", w.target, err), os.RemoveAll(w.tmp))
	}
	return nil
}

func (w *Writer) commit() error {
	w.Manifest.Files = nil
	for name, f := range w.files {
		if f == nil {
			return fmt.Errorf("%s was begun and not finished", name)
		}
		w.Manifest.Files = append(w.Manifest.Files, *f)
	}
	slices.SortFunc(w.Manifest.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	w.Manifest.Schema = Schema
	manifest, err := w.Manifest.encode()
	if err != nil {
		return err
	}
	switch {
	case strings.HasSuffix(w.target, ".tar"):
		return w.commitArchive(manifest, false)
	case strings.HasSuffix(w.target, ".tar.zst"):
		return w.commitArchive(manifest, true)
	}
	if err := os.WriteFile(filepath.Join(w.tmp, ManifestName), manifest, 0o644); err != nil {
		return err
	}
	if err := os.Chmod(w.tmp, 0o755); err != nil {
		return err
	}
	return os.Rename(w.tmp, w.target)
}

// commitArchive packs the folder. The archive lies in the folder while it
// grows, so that whatever happens leaves one thing behind at most.
func (w *Writer) commitArchive(manifest []byte, compress bool) (err error) {
	out, err := os.CreateTemp(w.tmp, "archive-*")
	if err != nil {
		return err
	}
	defer out.Close()
	buf := bufio.NewWriterSize(out, 1<<16)
	var to io.Writer = buf
	var enc *zstd.Encoder
	if compress {
		// One goroutine: the cuts between blocks must not depend on the machine.
		if enc, err = zstd.NewWriter(buf, zstd.WithEncoderConcurrency(1)); err != nil {
			return err
		}
		to = enc
	}
	if err := w.pack(to, manifest); err != nil {
		return err
	}
	if enc != nil {
		if err := enc.Close(); err != nil {
			return err
		}
	}
	if err := buf.Flush(); err != nil {
		return err
	}
	if err := out.Chmod(0o644); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err := out.Sync(); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	if err := os.Rename(out.Name(), w.target); err != nil {
		return err
	}
	return os.RemoveAll(w.tmp)
}

// pack writes the tar: the manifest first, then the files by name, with nothing
// of this machine in the headers.
func (w *Writer) pack(to io.Writer, manifest []byte) error {
	tw := tar.NewWriter(to)
	header := func(name string, size int64) *tar.Header {
		return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, ModTime: time.Unix(0, 0)}
	}
	if err := tw.WriteHeader(header(ManifestName, int64(len(manifest)))); err != nil {
		return err
	}
	if _, err := tw.Write(manifest); err != nil {
		return err
	}
	for _, f := range w.Manifest.Files {
		if err := tw.WriteHeader(header(f.Path, f.Bytes)); err != nil {
			return err
		}
		if err := w.packFile(tw, f); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	return tw.Close()
}

func (w *Writer) packFile(to io.Writer, f File) error {
	in, err := os.Open(filepath.Join(w.tmp, filepath.FromSlash(path.Clean(f.Path))))
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(to, in)
	return err
}

// Abort throws away what was collected. After Commit it does nothing.
func (w *Writer) Abort() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return nil
	}
	w.done = true
	return os.RemoveAll(w.tmp)
}
