package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
)

// maxHashed is how large a file may be to be hashed for the document: hashing a
// larger one would cost more than reading it.
const maxHashed = 64 << 20

// hashFile sets the source's hash, if the file is not too large.
func hashFile(src *Source, f *os.File, size int64) {
	if size > maxHashed {
		return
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, size)); err == nil {
		src.SHA256 = hex.EncodeToString(h.Sum(nil))
	}
}

// hashingFS remembers which files of a saved folder were read, to hash them: the
// folder's hash is that of the lines "SHA256  NAME" of those files, by name.
type hashingFS struct {
	fs.FS
	mu    sync.Mutex
	names map[string]bool
}

func newHashingFS(fsys fs.FS) *hashingFS {
	return &hashingFS{FS: fsys, names: map[string]bool{}}
}

func (h *hashingFS) Open(name string) (fs.File, error) {
	f, err := h.FS.Open(name)
	if err == nil {
		h.mu.Lock()
		h.names[name] = true
		h.mu.Unlock()
	}
	return f, err
}

func (h *hashingFS) sum() string {
	var names []string
	for n := range h.names {
		names = append(names, n)
	}
	slices.Sort(names)
	total := sha256.New()
	for _, n := range names {
		info, err := fs.Stat(h.FS, n)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxHashed {
			continue
		}
		f, err := h.FS.Open(n)
		if err != nil {
			continue
		}
		one := sha256.New()
		_, err = io.Copy(one, f)
		f.Close()
		if err == nil {
			fmt.Fprintf(total, "%x  %s\n", one.Sum(nil), n)
		}
	}
	return hex.EncodeToString(total.Sum(nil))
}
