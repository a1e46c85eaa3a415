package probe

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"

	"github.com/ringaudit/ringaudit/tracefs/ringlog"
)

// ring is the user's end of a BPF ring buffer (kernel/bpf/ringbuf.c, 5.8 and
// later): one page with the consumer's position, one with the producer's, then
// the data twice, so that no record is cut at the end.
//
// The programs submit without a wakeup, so that watching costs the watched
// machine nothing but the records themselves; the reader looks by time.
type ring struct {
	cons, prod       []byte
	consPos, prodPos *atomic.Uintptr
	data             []byte
	mask             uintptr
	size             uintptr
}

const (
	recordBytes = 32 // struct record of witness.c
	busyBit     = 1 << 31
	discardBit  = 1 << 30
	headerBytes = 8
)

func openRing(m *ebpf.Map, size int) (*ring, error) {
	page := os.Getpagesize()
	cons, err := syscall.Mmap(m.FD(), 0, page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping the ring buffer: %w", err)
	}
	prod, err := syscall.Mmap(m.FD(), int64(page), page+2*size, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		_ = syscall.Munmap(cons)
		return nil, fmt.Errorf("mapping the ring buffer: %w", err)
	}
	return &ring{
		cons: cons, prod: prod,
		consPos: (*atomic.Uintptr)(unsafe.Pointer(&cons[0])),
		prodPos: (*atomic.Uintptr)(unsafe.Pointer(&prod[0])),
		data:    prod[page:], mask: uintptr(size - 1), size: uintptr(size),
	}, nil
}

func (r *ring) close() error {
	if err := syscall.Munmap(r.cons); err != nil {
		return err
	}
	return syscall.Munmap(r.prod)
}

// batch bounds how many bytes are taken before their room is given back.
const batch = 64 << 10

// take hands out the records that are there; bad counts those that are none of
// ours. It returns how many bytes it took.
func (r *ring) take(each func(*ringlog.Record), bad *uint64) (taken uintptr) {
	var rec ringlog.Record
	cons := r.consPos.Load()
	prod := r.prodPos.Load()
	given := cons
	for cons < prod {
		at := cons & r.mask
		head := (*atomic.Uint32)(unsafe.Pointer(&r.data[at])).Load()
		if head&busyBit != 0 {
			break
		}
		n := uintptr(head &^ (busyBit | discardBit))
		if head&discardBit == 0 {
			if n == recordBytes && at+headerBytes+n <= uintptr(len(r.data)) {
				decode(r.data[at+headerBytes:at+headerBytes+n], &rec)
				each(&rec)
			} else {
				*bad++
			}
		}
		step := (n + headerBytes + 7) &^ 7
		cons += step
		taken += step
		if cons-given >= batch {
			r.consPos.Store(cons)
			given = cons
			prod = r.prodPos.Load()
		}
	}
	r.consPos.Store(cons)
	return taken
}

func decode(b []byte, r *ringlog.Record) {
	e := binary.NativeEndian
	r.Seq, r.Time = e.Uint64(b), e.Uint64(b[8:])
	r.CPU, r.Probe = int(e.Uint32(b[16:])), int(e.Uint32(b[20:]))
	r.PID, r.TGID = e.Uint32(b[24:]), e.Uint32(b[28:])
}

// Drain hands out records until stop is closed and the ring is empty. It
// returns how many records were none of ours. The record is valid during the
// call of each only.
func (s *Set) Drain(stop <-chan struct{}, each func(*ringlog.Record)) (undecodable uint64) {
	// Sleep so long that a ring filling as fast as just seen is at most a
	// quarter full when it is looked at again.
	const least, most = 200 * time.Microsecond, 20 * time.Millisecond
	pause := least
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		stopping := false
		select {
		case <-stop:
			stopping = true
		default:
		}
		taken := s.ring.take(each, &undecodable)
		switch {
		case stopping && taken == 0:
			return undecodable
		case stopping:
			continue
		case taken > s.ring.size/8:
			pause = max(pause/2, least)
			continue
		case taken > s.ring.size/32:
			pause = max(pause*3/4, least)
		default:
			pause = min(pause*5/4, most)
		}
		timer.Reset(pause)
		select {
		case <-stop:
		case <-timer.C:
		}
	}
}
