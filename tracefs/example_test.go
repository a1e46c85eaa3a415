package tracefs_test

import (
	"fmt"
	"strings"

	"github.com/ringaudit/ringaudit/tracefs"
)

// What the kernel did not print is absent, and what it did print keeps its line.
func ExampleParseStats() {
	s, err := tracefs.ParseStats(strings.NewReader("entries: 273\noverrun: 44002\ncommit overrun: 0\n"), "per_cpu/cpu0/stats")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Overrun.V, s.Overrun.Pos(), s.Dropped.OK)
	// Output: 44002 per_cpu/cpu0/stats:2 false
}

func ExampleSummarizeText() {
	const pipe = "CPU:1 [LOST 714 EVENTS]\n" +
		"              tr-286     [001] d.s4.    55.121248: update_curr <-check_preempt_wakeup\n"
	s, err := tracefs.SummarizeText(strings.NewReader(pipe), "trace_pipe.txt", tracefs.TextOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	cpu := s.Sections[0].CPU(1)
	fmt.Println(s.Kind, cpu.Events, cpu.Lost, cpu.First)
	// Output: trace_pipe 1 714 55.121248
}

func ExampleParseCPUList() {
	cpus, err := tracefs.ParseCPUList("0-7:2/4,12")
	fmt.Println(cpus, err)
	// Output: [0 1 4 5 12] <nil>
}
