package packet

import (
	"fmt"
	"testing"
)

// TestLineFraming_CountsCellsAndOverhead checks the bytes of a line that a frame takes, by hand. ATM carries 48 bytes
// in 53 (ITU-T I.361, §2), and PTM adds a byte for each 64 or part of them. The framing of cake (tc-cake(8)) counts the
// bytes behind the Ethernet header, the overhead, and at least mpu.
func TestLineFraming_CountsCellsAndOverhead(t *testing.T) {
	for _, x := range []struct {
		name           string
		overhead, mpu  int32
		cells          Cells
		frame, counted int32 // an Ethernet frame without FCS
	}{
		{"what the frame is", 14, 0, Whole, 1514, 1514},
		{"ethernet, with preamble, FCS and gap", 38, 84, Whole, 1514, 1538},
		{"ethernet, the shortest", 38, 84, Whole, 60, 84},
		{"docsis: the header of 14, the FCS", 18, 64, Whole, 1514, 1518},
		{"docsis, an acknowledgement of 54 bytes", 18, 64, Whole, 54, 64},
		{"pppoe-llcsnap over ADSL: 1500 + 40 fill 33 cells", 40, 0, ATM, 1514, 33 * 53},
		{"a byte less than fills its cells", 40, 0, ATM, 14 + 48*3 - 41, 3 * 53},
		{"what fills its cells", 40, 0, ATM, 14 + 48*3 - 40, 3 * 53},
		{"a byte more than fills its cells", 40, 0, ATM, 14 + 48*3 - 39, 4 * 53},
		{"an acknowledgement of 40 bytes over ADSL", 40, 0, ATM, 54, 2 * 53},
		{"mpu comes before cells", 10, 96, ATM, 54, 2 * 53},
		{"pppoe-ptm over VDSL", 30, 0, PTM, 1514, 1530 + 24},
		{"64 bytes over VDSL", 24, 0, PTM, 54, 64 + 1},
		{"65 bytes over VDSL", 25, 0, PTM, 54, 65 + 2},
		{"nothing added, and less than the header", 0, 0, Whole, 54, 40},
	} {
		t.Run(x.name, func(t *testing.T) {
			f := LineFraming(x.overhead, x.mpu, x.cells)
			if got := f.FrameBytes(x.frame, 0, true); got != x.counted {
				t.Errorf("%s: a frame of %d counts as %d, want %d", f.Name, x.frame, got, x.counted)
			}
			if least := f.MinFrame(); least > f.FrameBytes(0, 0, true) && x.overhead >= EthernetHeader {
				t.Errorf("the least is %d", least)
			}
		})
	}
	for _, name := range []string{"l2", "wire"} { // as lines
		named, _ := FramingByName(name)
		line := map[string]Framing{"l2": LineFraming(14, 0, Whole), "wire": LineFraming(38, 84, Whole)}[name]
		for n := int32(34); n < 1600; n++ {
			if a, b := named.FrameBytes(n, 0, true), line.FrameBytes(n, 0, true); a != b {
				t.Fatalf("%s: %d bytes are %d, as a line %d", name, n, a, b)
			}
		}
	}
}

// ExampleLineFraming calculates the share of payload in large frames: 48 of 53 bytes of ATM.
func ExampleLineFraming() {
	f := LineFraming(40, 0, ATM)
	fmt.Printf("%s: %d B of IP take %d B\n", f.Name, 1492, f.FrameBytes(14+1492, 0, true))
	// Output: overhead 40 mpu 0 atm: 1492 B of IP take 1696 B
}
