package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// outputTarget is what a path that is to be written stands for. A symbolic link
// stands for what it points to, and stays. What is there and is no regular file
// (a device, a pipe) is written to and never replaced: direct tells so.
func outputTarget(path string) (target string, direct bool, err error) {
	target, err = filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// Nothing there, or a link to nothing: that one names the file to make.
		if to, err := os.Readlink(path); err == nil {
			if !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(path), to)
			}
			return to, false, nil
		}
		return path, false, nil
	case err != nil:
		return "", false, err
	}
	info, err := os.Stat(target)
	if err != nil {
		return "", false, err
	}
	if info.IsDir() {
		return "", false, &fs.PathError{Op: "write", Path: path, Err: errors.New("is a folder")}
	}
	return target, !info.Mode().IsRegular(), nil
}

// openDirect opens a device or pipe for writing.
func openDirect(target string) (*os.File, error) { return os.OpenFile(target, os.O_WRONLY, 0) }
