package citations

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// decompress tells the compression by the first bytes.
func (a *archive) decompress(ctx context.Context, file *os.File) (io.Reader, func(), error) {
	none := func() {}
	var magic [6]byte
	if _, err := io.ReadFull(file, magic[:]); err != nil {
		return nil, none, errors.New("too short to be an archive")
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, none, err
	}
	switch {
	case bytes.HasPrefix(magic[:], []byte{0x1f, 0x8b}):
		r, err := gzip.NewReader(bufio.NewReaderSize(file, 1<<16))
		return r, none, err
	case bytes.HasPrefix(magic[:], []byte{0x28, 0xb5, 0x2f, 0xfd}):
		r, err := zstd.NewReader(file, zstd.WithDecoderMaxWindow(maxDict), zstd.WithDecoderMaxMemory(maxDict), zstd.WithDecoderConcurrency(2))
		if err != nil {
			return nil, none, err
		}
		return r, r.Close, nil
	case bytes.HasPrefix(magic[:], []byte("\xfd7zXZ\x00")):
		return a.xz(ctx, file)
	}
	return file, none, nil
}

// xz unpacks with the xz program where there is one: it uses all CPUs on
// archives that were made of blocks, and is three times as fast as the Go
// package on one.
func (a *archive) xz(ctx context.Context, file *os.File) (io.Reader, func(), error) {
	none := func() {}
	prog, err := exec.LookPath("xz")
	if err != nil || a.opts.NoHelper {
		if err := checkXZDict(file); err != nil {
			return nil, none, err
		}
		r, err := xz.ReaderConfig{}.NewReader(bufio.NewReaderSize(file, 1<<16))
		return r, none, err
	}
	cmd := exec.CommandContext(ctx, prog, "--decompress", "--stdout", "--quiet", "--threads=0", "--memlimit=512MiB")
	var errs bytes.Buffer
	cmd.Stdin, cmd.Stderr = file, &errs
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, none, err
	}
	if err := cmd.Start(); err != nil {
		return nil, none, err
	}
	r := &helperReader{pipe: pipe, cmd: cmd, errs: &errs}
	return r, r.stop, nil
}

// helperReader turns the exit status of a filter program into a read error, so
// that a damaged archive does not look like a short one.
type helperReader struct {
	pipe   io.ReadCloser
	cmd    *exec.Cmd
	errs   *bytes.Buffer
	waited bool
	err    error // once waited
}

func (h *helperReader) Read(p []byte) (int, error) {
	if h.waited {
		return 0, h.err
	}
	n, err := h.pipe.Read(p)
	if err == io.EOF && n == 0 {
		h.waited, h.err = true, io.EOF
		if werr := h.cmd.Wait(); werr != nil {
			msg := firstLine(strings.TrimSpace(h.errs.String()))
			h.err = fmt.Errorf("xz: %w %s", werr, msg)
		}
		return 0, h.err
	}
	return n, err
}

func (h *helperReader) stop() {
	if h.waited {
		return
	}
	h.waited, h.err = true, os.ErrClosed
	h.cmd.Process.Kill()
	h.pipe.Close()
	h.cmd.Wait()
}

// checkXZDict refuses a first block whose dictionary would take more memory
// than any kernel archive needs (xz file format 1.2.0, sections 3.1 and 5.3.1).
// The xz program has a limit of its own; the Go package has none.
func checkXZDict(file *os.File) error {
	var head [12 + 1024]byte
	n, _ := file.ReadAt(head[:], 0)
	b := head[12:max(n, 12)]
	if len(b) < 2 || b[0] == 0 {
		return nil // no block: the reader tells what is wrong, if anything
	}
	flags, b := b[1], b[2:]
	for _, bit := range []byte{0x40, 0x80} { // compressed and uncompressed size
		for flags&bit != 0 && len(b) > 0 {
			more := b[0]&0x80 != 0
			if b = b[1:]; !more {
				break
			}
		}
	}
	if len(b) < 3 || b[0] != 0x21 || b[1] != 1 {
		return nil // not LZMA2 alone: the reader refuses it
	}
	bits := b[2] & 0x3f
	if bits > 40 {
		return nil
	}
	dict := int64(2|bits&1) << (bits/2 + 11)
	if dict > maxDict {
		return fmt.Errorf("its dictionary takes %d bytes of memory, more than the limit of %d", dict, int64(maxDict))
	}
	return nil
}
