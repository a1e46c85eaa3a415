package blueprints

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// HashEvidence is the hash that a provenance line carries. Of a file it is the
// SHA-256 of its bytes; of a folder, and of a file that has a description
// beside it, the SHA-256 of the lines "HASH  NAME\n" of all files in it, by
// name, as sha256sum prints them.
func HashEvidence(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	var names []string
	root := file
	if info.IsDir() {
		err := filepath.WalkDir(file, func(p string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir():
				return nil
			case !d.Type().IsRegular():
				return fmt.Errorf("%s is no regular file; evidence is plain files and folders", p)
			}
			rel, err := filepath.Rel(file, p)
			names = append(names, filepath.ToSlash(rel))
			return err
		})
		if err != nil {
			return "", err
		}
	} else {
		meta := metaFile(file)
		if meta == "" {
			var sum string
			err := hashInto(sha256.New(), file, func(s string) { sum = s })
			return sum, err
		}
		root = filepath.Dir(file)
		names = []string{filepath.Base(file), filepath.Base(meta)}
	}
	slices.Sort(names)
	all := sha256.New()
	for _, n := range names {
		if err := hashInto(sha256.New(), filepath.Join(root, filepath.FromSlash(n)), func(sum string) {
			fmt.Fprintf(all, "%s  %s\n", sum, n)
		}); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(all.Sum(nil)), nil
}

// hashInto hashes a file and hands the sum on.
func hashInto(h hash.Hash, file string, use func(sum string)) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	use(hex.EncodeToString(h.Sum(nil)))
	return nil
}

// evidenceMeta is what a description beside evidence may say: how it was taken,
// and what the kernel's own files do not tell. Other keys are for people.
type evidenceMeta struct {
	Kernel        string `toml:"kernel"`
	KernelRelease string `toml:"kernel_release"`
	Arch          string `toml:"arch"`
	PageSize      int64  `toml:"page_size"`    // bytes
	HeaderBytes   int64  `toml:"header_bytes"` // of a sub-buffer: 16, or 12 on a 32-bit kernel
	RequestKB     int64  `toml:"request_kb"`   // written to buffer_size_kb, for each CPU
	Mode          string `toml:"mode"`         // overwrite or no-overwrite
	Clock         string `toml:"clock"`
	Describes     string `toml:"describes"`
	Note          string `toml:"note"`
	Commands      string `toml:"commands"`
	// Evidence is false where a person wrote the files instead of a kernel.
	Evidence *bool `toml:"evidence"`
}

// metaFile is the description of evidence: meta.toml in its folder; beside a
// file NAME.EXT it is NAME.EXT.toml or NAME.meta.toml. "" if there is none.
func metaFile(file string) string {
	candidates := []string{filepath.Join(file, "meta.toml")}
	if info, err := os.Stat(file); err == nil && !info.IsDir() {
		candidates = []string{file + ".toml", strings.TrimSuffix(file, filepath.Ext(file)) + ".meta.toml"}
	}
	for _, c := range candidates {
		if info, err := os.Stat(c); err == nil && info.Mode().IsRegular() {
			return c
		}
	}
	return ""
}

func readMeta(file string) (m evidenceMeta, err error) {
	name := metaFile(file)
	if name == "" {
		return m, nil
	}
	if _, err := toml.DecodeFile(name, &m); err != nil {
		var pe toml.ParseError
		if errors.As(err, &pe) {
			return m, fmt.Errorf("%s:%d: %s", name, pe.Position.Line, pe.Message)
		}
		return m, fmt.Errorf("%s: %w", name, err)
	}
	for _, n := range []struct {
		key string
		v   int64
	}{{"page_size", m.PageSize}, {"header_bytes", m.HeaderBytes}, {"request_kb", m.RequestKB}} {
		if n.v < 0 || n.v > 1<<40 {
			return m, fmt.Errorf("%s: %s = %d is out of range", name, n.key, n.v)
		}
	}
	return m, nil
}
