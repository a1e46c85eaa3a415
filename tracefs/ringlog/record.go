package ringlog

import (
	"bytes"
	"encoding/json"
	"errors"
)

// fastRecord reads a record line as [Writer] writes it. Any other spelling of
// the same record is left to the JSON decoder.
func fastRecord(b []byte) (r Record, ok bool) {
	const head = `{"type":"record","seq":`
	if !bytes.HasPrefix(b, []byte(head)) {
		return r, false
	}
	s := scanner{b: b[len(head):]}
	r.Seq = s.number(^uint64(0))
	s.skip(`,"time":`)
	r.Time = s.number(^uint64(0))
	s.skip(`,"cpu":`)
	r.CPU = int(s.number(1<<31 - 1))
	s.skip(`,"probe":`)
	r.Probe = int(s.number(1<<31 - 1))
	s.skip(`,"pid":`)
	r.PID = uint32(s.number(1<<32 - 1))
	s.skip(`,"tgid":`)
	r.TGID = uint32(s.number(1<<32 - 1))
	s.skip(`}`)
	return r, !s.bad && len(s.b) == 0
}

// scanner eats a line from the front; bad sticks.
type scanner struct {
	b   []byte
	bad bool
}

func (s *scanner) skip(text string) {
	if s.bad || len(s.b) < len(text) || string(s.b[:len(text)]) != text {
		s.bad = true
		return
	}
	s.b = s.b[len(text):]
}

func (s *scanner) number(limit uint64) uint64 {
	var n uint64
	i := 0
	for ; i < len(s.b) && s.b[i] >= '0' && s.b[i] <= '9'; i++ {
		d := uint64(s.b[i] - '0')
		if n > (limit-d)/10 {
			s.bad = true
			return 0
		}
		n = n*10 + d
	}
	if i == 0 || (i > 1 && s.b[0] == '0') {
		s.bad = true
	}
	s.b = s.b[i:]
	return n
}

// slowRecord decodes a record line in any spelling; its numbers must be there.
type slowRecord struct{ Record }

func (r *slowRecord) decode(line []byte) error {
	var j struct {
		Seq   *uint64 `json:"seq"`
		Time  *uint64 `json:"time"`
		CPU   *uint32 `json:"cpu"`
		Probe *uint32 `json:"probe"`
		PID   uint32  `json:"pid"`
		TGID  uint32  `json:"tgid"`
	}
	if err := json.Unmarshal(line, &j); err != nil {
		return jsonError(line, err)
	}
	if j.Seq == nil || j.Time == nil || j.CPU == nil || j.Probe == nil {
		return errors.New("seq, time, cpu or probe is missing")
	}
	if *j.CPU >= maxCPU || *j.Probe >= maxProbes {
		return errors.New("cpu or probe is out of range")
	}
	r.Record = Record{Seq: *j.Seq, Time: *j.Time, CPU: int(*j.CPU), Probe: int(*j.Probe), PID: j.PID, TGID: j.TGID}
	return nil
}
