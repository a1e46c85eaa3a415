package tracedat_test

import (
	"context"
	"fmt"
	"os"

	"github.com/ringaudit/ringaudit/tracefs/tracedat"
)

func Example() {
	r, err := os.Open("testdata/synthetic/syn_v7_zstd_le64.dat")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := tracedat.Open(r, info.Size(), "syn_v7_zstd_le64.dat")
	if err != nil {
		fmt.Println(err)
		return
	}
	sums, err := f.Summarize(context.Background(), tracedat.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range sums {
		kernel := s.Buffer().Stats[s.Data.CPU]
		fmt.Printf("CPU %d: %d events; %d lost in counted holes and %d without a count, %d by the kernel's own count\n",
			s.Data.CPU, s.Records, s.Lost, s.HolesUnknown, kernel.Overrun.V)
		for _, id := range s.ByID {
			fmt.Printf("  %s %d\n", f.EventName(id.ID), id.Records)
		}
	}
	for _, p := range f.Problems {
		fmt.Println(p)
	}
	// Output:
	// CPU 0: 260 events; 32 lost in counted holes and 1 without a count, 38 by the kernel's own count
	//   lab:tick 260
	// CPU 1: 3 events; 0 lost in counted holes and 0 without a count, 0 by the kernel's own count
	//   lab:tick 3
}
