package subbuf_test

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/ringaudit/ringaudit/tracefs/subbuf"
)

// twoSubbufs is what a reader of trace_pipe_raw got on a little-endian machine
// with an 8-byte long: two events, and then one more behind 7 that it missed.
func twoSubbufs() []byte {
	b := make([]byte, 8192)
	le := binary.LittleEndian
	le.PutUint64(b[0:], 1000)       // stamp of the first event
	le.PutUint64(b[8:], 16)         // bytes of records
	le.PutUint32(b[16:], 0<<5|1)    // an event with 4 bytes, at once
	le.PutUint16(b[20:], 42)        // its id
	le.PutUint32(b[24:], 250<<5|1)  // another, 250 ns later
	le.PutUint16(b[28:], 42)        //
	le.PutUint64(b[4096:], 9000)    //
	le.PutUint64(b[4104:], 3<<30|8) // 8 bytes; events were lost before, and counted
	le.PutUint32(b[4112:], 1)       //
	le.PutUint16(b[4116:], 42)      //
	le.PutUint64(b[4120:], 7)       // that many
	return b
}

func ExampleSummarizeStream() {
	layout := subbuf.NewLayout(binary.LittleEndian, 8, 4096)
	s, err := subbuf.SummarizeStream(bytes.NewReader(twoSubbufs()), layout, subbuf.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Records, "events, lost", s.Lost)
	for _, h := range s.Holes {
		fmt.Println(h.Count, "between", h.After, "and", h.Before)
	}
	// Output:
	// 3 events, lost 7
	// 7 between 1250 and 9000
}

func ExamplePage_Records() {
	layout, how, err := subbuf.InferLayout(twoSubbufs())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(layout, how.Certain())
	page, err := layout.Page(twoSubbufs()[:layout.SubbufBytes])
	if err != nil {
		fmt.Println(err)
		return
	}
	for r, err := range page.Records() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(r.Kind, "of event", r.ID, "at", r.Stamp)
	}
	// Output:
	// little endian, 8-byte long, sub-buffers of 4096 bytes true
	// data of event 42 at 1000
	// data of event 42 at 1250
}
