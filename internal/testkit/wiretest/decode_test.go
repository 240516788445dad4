package wiretest_test

import (
	"fmt"
	"net/netip"
	"reflect"
	"testing"

	"weir/core/packet"
	"weir/core/telemetry"
	"weir/core/unit"
	"weir/internal/testkit/wiretest"
)

var rates = []int64{10e9, 25e9, 40e9, 50e9, 100e9, 200e9, 400e9, 800e9, 1600e9}

// frames returns some frames of each format, by their names.
func frames(t testing.TB) map[string][]byte {
	t.Helper()
	book := packet.NewBook()
	for i := byte(1); i < 3; i++ {
		book.Add(netip.AddrFrom4([4]byte{10, 0, 0, i}), netip.AddrFrom16([16]byte{0xfd, 15: i}))
	}
	all := map[string][]byte{}
	for _, name := range []string{"", "hpcc", "int-md", "ioam", "ioam-gafni", "ifa", "ifa-ext"} {
		for proto, word := range map[uint8]string{packet.ProtoTCP: "tcp", packet.ProtoUDP: "udp", packet.ProtoRDMA: "rdma"} {
			for _, version := range []uint8{4, 6} {
				p := packet.Packet{Src: 1, Dst: 2, SrcPort: 1000, DstPort: 2000, Proto: proto, Version: version, HopLimit: 60,
					TOS: 1, Payload: 25, Seq: 7, Kind: packet.Data}
				if name != "" {
					f, err := telemetry.NewFormat(name, 1, 1.05, nil)
					if err != nil || !f.AddRequest(&p, telemetry.HopRecords, false) {
						t.Fatal(name, err)
					}
					for i := range unit.Time(2) {
						f.PushRecord(&p, &telemetry.Hop{Time: 3*unit.Second + i*unit.Microsecond, TxBytes: 123456, Queue: 7890,
							Rate: 100 * unit.Gbps, Sojourn: 5 * unit.Microsecond, Switch: 17, Port: 3})
					}
				}
				b, err := p.Emit(book, nil)
				if err != nil {
					t.Fatal(err)
				}
				all[fmt.Sprint(name, " ", word, version)] = b
			}
		}
	}
	return all
}

func options(name string) wiretest.Options {
	o := wiretest.Options{IFA: true, Rates: rates}
	if len(name) > 4 && name[:4] == "hpcc" {
		o.Rates = []int64{25e9, 50e9, 100e9, 200e9, 400e9}
	}
	return o
}

// TestDecode_DetectsEachFlippedBit checks that each flipped bit behind the Ethernet addresses causes an error or a
// difference in the decoded frame. The only exception is IPv6's flow label. Truncated frames and additional bytes
// are errors, too.
func TestDecode_DetectsEachFlippedBit(t *testing.T) {
	for name, frame := range frames(t) {
		t.Run(name, func(t *testing.T) {
			want, err := wiretest.Decode(frame, options(name))
			if err != nil {
				t.Fatal(err)
			}
			for bit := 12 * 8; bit < 8*len(frame); bit++ {
				if want.Version == 6 && bit >= 14*8+12 && bit < 14*8+32 {
					continue
				}
				damaged := append([]byte(nil), frame...)
				damaged[bit/8] ^= 0x80 >> (bit % 8)
				got, err := wiretest.Decode(damaged, options(name))
				if err == nil && reflect.DeepEqual(got, want) {
					t.Errorf("byte %d, bit %d", bit/8, bit%8)
				}
			}
			for n := range frame {
				if _, err := wiretest.Decode(frame[:n], options(name)); err == nil {
					t.Errorf("it is cut to %d bytes", n)
				}
			}
			if _, err := wiretest.Decode(append(append([]byte(nil), frame...), make([]byte, 60)...), options(name)); err == nil {
				t.Error("there are bytes behind the packet")
			}
		})
	}
}

// FuzzDecode_GivesFrameOrError checks that the decoder accepts any input without a panic.
func FuzzDecode_GivesFrameOrError(f *testing.F) {
	for _, frame := range frames(f) {
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		if x, err := wiretest.Decode(frame, wiretest.Options{IFA: true, Rates: rates}); err == nil && x == nil {
			t.Error("neither a frame nor an error")
		}
	})
}
