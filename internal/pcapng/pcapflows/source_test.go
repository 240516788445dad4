package pcapflows_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"weir/core/unit"
	"weir/internal/pcapng/pcapflows"
)

type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// file is a capture that a test writes in the format of draft-ietf-opsawg-pcapng.
type file struct {
	bytes.Buffer
	order byteOrder
}

// begin returns a file with a section header.
func begin(order byteOrder) *file {
	f := &file{order: order}
	f.section()
	return f
}

func (f *file) section() {
	f.block(0x0a0d0d0a, f.u32(0x1a2b3c4d), f.u16(1), f.u16(0), bytes.Repeat([]byte{0xff}, 8))
}

func (f *file) u16(x uint16) []byte { return f.order.AppendUint16(nil, x) }
func (f *file) u32(x uint32) []byte { return f.order.AppendUint32(nil, x) }

func padded(b []byte) []byte { return append(bytes.Clone(b), 0, 0, 0)[:(len(b)+3)&^3] }

func (f *file) block(kind uint32, parts ...[]byte) {
	body := padded(bytes.Join(parts, nil))
	n := f.u32(uint32(len(body) + 12))
	for _, b := range [][]byte{f.u32(kind), n, body, n} {
		f.Write(b)
	}
}

func (f *file) option(code uint16, value []byte) []byte {
	return bytes.Join([][]byte{f.u16(code), f.u16(uint16(len(value))), padded(value)}, nil)
}

// on writes the description of an interface.
func (f *file) on(link uint16, snap uint32, options ...[]byte) {
	f.block(1, f.u16(link), f.u16(0), f.u32(snap), bytes.Join(options, nil))
}

// frame writes an enhanced packet block for a packet of the given length, with the captured data.
func (f *file) frame(on int, stamp uint64, data []byte, length int) {
	f.block(6, f.u32(uint32(on)), f.u32(uint32(stamp>>32)), f.u32(uint32(stamp)), f.u32(uint32(len(data))),
		f.u32(uint32(length)), padded(data))
}

var msb, lsb = binary.BigEndian, binary.LittleEndian

// v4 returns an IPv4 packet without options, behind an Ethernet header and optional VLAN tags.
func v4(src, dst byte, proto byte, flags uint16, payload []byte, tags ...uint16) []byte {
	b := make([]byte, 12, 64)
	for _, tag := range tags {
		b = msb.AppendUint16(msb.AppendUint16(b, tag), 7)
	}
	b = append(b, 8, 0, 0x45, 0)
	b = msb.AppendUint16(b, uint16(20+len(payload)))
	b = msb.AppendUint16(msb.AppendUint16(b, 77), flags)
	b = append(b, 64, proto, 0, 0, 10, 0, 0, src, 10, 0, 0, dst)
	return append(b, payload...)
}

// v6 returns an IPv6 packet. The payload may begin with extension headers, the first of type proto.
func v6(src, dst byte, proto byte, payload []byte) []byte {
	b := append(make([]byte, 12, 64), 0x86, 0xdd, 0x60, 0, 0, 0)
	b = append(msb.AppendUint16(b, uint16(len(payload))), proto, 64)
	for _, x := range []byte{src, dst} {
		b = append(append(append(b, 0xfd), make([]byte, 14)...), x)
	}
	return append(b, payload...)
}

// tcp returns a segment with a payload of the given length.
func tcp(from, to uint16, seq uint32, flags byte, payload int) []byte {
	b := msb.AppendUint32(msb.AppendUint16(msb.AppendUint16(nil, from), to), seq)
	b = append(msb.AppendUint32(b, 1), 5<<4, flags, 1, 0, 0, 0, 0, 0)
	return append(b, make([]byte, payload)...)
}

func fragment6(offset int, more uint16, payload []byte) []byte {
	return append(append(msb.AppendUint16([]byte{6, 0}, uint16(offset)|more), 0, 0, 0, 9), payload...)
}

const (
	syn, ack, fin, rst = 2, 16, 17, 4
	second             = 1_000_000
	began              = 1_700_000_000 * second // microseconds
)

// TestReadFrames_ReadsTimestampsExactly checks that timestamps count in units of if_tsresol from if_tsoffset, by
// default 1 us from 1970 (draft-ietf-opsawg-pcapng §4.2). Picoseconds are exact. Each section has its own
// interfaces and byte order (there, too).
func TestReadFrames_ReadsTimestampsExactly(t *testing.T) {
	f := begin(lsb)
	f.on(1, 0)
	f.on(1, 0, f.option(2, []byte("eth0")), f.option(9, []byte{9}), f.option(14, lsb.AppendUint64(nil, 1_700_000_000)))
	f.on(101, 0, f.option(9, []byte{12}))
	f.on(1, 0, f.option(9, []byte{0x80 | 10}))
	f.block(0xbad, []byte("of somebody's own"))
	f.frame(0, began+1, []byte{1}, 9)
	f.frame(1, 2_000_000_003, []byte{2}, 1)
	f.frame(2, 5, []byte{3}, 1)
	f.frame(3, 3<<10|512, []byte{4}, 1)
	f.block(2, f.u16(1), f.u16(0), f.u32(0), f.u32(7), f.u32(1), f.u32(1), []byte{5}) // the obsolete packet block
	f.block(3, f.u32(2), []byte{6, 6})                                                // simple
	f.order = msb
	f.section()
	f.on(1, 1)
	f.block(3, f.u32(2), []byte{7}) // of which the interface keeps one byte
	want := make([]string, 7)
	want[0] = "7 interface0 1700000000 s 1000000 ps, [1] of 9"
	want[1] = "8 eth0 1700000002 s 3000 ps, [2] of 1"
	want[2] = "9 interface2 0 s 5 ps, [3] of 1"
	want[3] = "10 interface3 3 s 500000000000 ps, [4] of 1"
	want[4] = "11 eth0 1700000000 s 7000 ps, [5] of 1"
	want[5] = "12 interface0 no time, [6 6] of 2"
	want[6] = "15 interface4 no time, [7] of 2"
	var got []string
	err := pcapflows.ReadFrames(f.Bytes(), func(x *pcapflows.Frame) error {
		at := "no time"
		if x.Timed {
			at = fmt.Sprintf("%d s %d ps", x.Seconds, int64(x.Part))
		}
		got = append(got, fmt.Sprintf("%d %s %s, %v of %d", x.Block, x.Interface.Name, at, x.Data, x.Length))
		return nil
	})
	if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%v\n%s\nwant\n%s", err, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// pcapFile returns a capture in the older format (draft-ietf-opsawg-pcap).
func pcapFile(order byteOrder, magic uint32, part uint32) []byte {
	b := order.AppendUint16(order.AppendUint16(order.AppendUint32(nil, magic), 2), 4)
	for _, x := range []uint32{0, 0, 65535, 1, 1_700_000_000, part, 2, 3} {
		b = order.AppendUint32(b, x)
	}
	return append(b, 8, 9)
}

func TestReadFrames_ReadsPcapOfBothOrders(t *testing.T) {
	for name, c := range map[string]struct {
		file []byte
		part unit.Time
	}{
		"microseconds": {pcapFile(lsb, 0xa1b2c3d4, 7), 7 * unit.Microsecond},
		"nanoseconds":  {pcapFile(msb, 0xa1b23c4d, 7), 7 * unit.Nanosecond},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			err := pcapflows.ReadFrames(c.file, func(x *pcapflows.Frame) error {
				n++
				if x.Part != c.part || x.Seconds != 1_700_000_000 || len(x.Data) != 2 || x.Length != 3 || x.Block != 2 ||
					x.Offset != 24 {
					t.Errorf("%+v", x)
				}
				return nil
			})
			if err != nil || n != 1 {
				t.Errorf("%d frames, %v", n, err)
			}
		})
	}
}

// TestBadCaptures checks that an error in a file is reported with its block and offset.
func TestBadCaptures(t *testing.T) {
	good := begin(lsb)
	good.on(1, 0)
	with := func(change func(f *file)) []byte {
		f := begin(lsb)
		if f.on(1, 0); change != nil {
			change(f)
		}
		return f.Bytes()
	}
	for want, b := range map[string][]byte{
		"block 1 at offset 0: a file of 2 bytes is no capture":    {1, 2},
		"block 1 at offset 0: the file begins with 0x68656c6c":    []byte("hello"),
		"block 1 at offset 0: the file is compressed":             {0x1f, 0x8b, 8, 0},
		"block 1 at offset 0: the file ends after 4 bytes":        good.Bytes()[:4],
		"block 3 at offset 48: the file ends after 2 bytes":       append(with(nil), 6, 0),
		"block 3 at offset 48: a block of 13 bytes":               append(with(nil), 6, 0, 0, 0, 13, 0, 0, 0, 1, 2, 3, 4),
		"a block of 64 bytes, and the file ends after 12 of them": append(with(nil), 6, 0, 0, 0, 64, 0, 0, 0, 1, 2, 3, 4),
		"a block has 12 bytes at its begin and 16 at its end":     append(with(nil), 9, 0, 0, 0, 12, 0, 0, 0, 16, 0, 0, 0),
		"whose byte order magic is 0x01020304": with(func(f *file) {
			f.block(0x0a0d0d0a, []byte{1, 2, 3, 4})
		}),
		"version 2 of pcapng": with(func(f *file) {
			f.block(0x0a0d0d0a, f.u32(0x1a2b3c4d), f.u32(2), f.u32(0), f.u32(0))
		}),
		"a packet of interface 1, and the section has described": with(func(f *file) { f.frame(1, 0, nil, 0) }),
		"a packet of 1 bytes, of which 2 are kept":               with(func(f *file) { f.frame(0, 0, []byte{1, 2}, 1) }),
		"a packet's block of 16 bytes":                           with(func(f *file) { f.block(6, []byte{0, 0, 0, 0}) }),
		"if_tsresol 0x14": with(func(f *file) {
			f.on(1, 0, f.option(9, []byte{20}))
		}),
		"option 2 has 9 bytes, and the block 0":                 with(func(f *file) { f.on(1, 0, f.u16(2), f.u16(9)) }),
		"block 1 at offset 0: the file ends after 20":           pcapFile(lsb, 0xa1b2c3d4, 0)[:20],
		"block 2 at offset 24: the file ends after 6":           pcapFile(lsb, 0xa1b2c3d4, 0)[:30],
		"block 2 at offset 24: a packet of which 2 bytes":       pcapFile(lsb, 0xa1b2c3d4, 0)[:41],
		"block 2 at offset 24: a time stamp with 1000000 parts": pcapFile(lsb, 0xa1b2c3d4, 1e6),
		"is 9000000 s behind the first one": with(func(f *file) {
			f.frame(0, began, v4(1, 2, 17, 0, nil), 34)
			f.frame(0, began+9e6*second, v4(1, 2, 17, 0, nil), 34)
		}),
	} {
		t.Run(want, func(t *testing.T) {
			_, err := pcapflows.Read(b, pcapflows.Selection{})
			var at *pcapflows.BlockError
			if !errors.As(err, &at) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}

// left lists the omitted packets, in words.
func left(s *pcapflows.Source) string { return strings.Trim(fmt.Sprint(s.Omissions), "[]") }

// TestRead_TakesPacketsByIPLength checks that each IP packet counts once, with the length in its IP header, despite
// VLAN tags, fragments, padding and truncation. Frames that are no packet between two hosts are left out, and
// counted.
func TestRead_TakesPacketsByIPLength(t *testing.T) {
	f := begin(msb)
	f.on(1, 0)
	f.on(101, 0, f.option(9, []byte{9}), f.option(2, []byte("tun0")))
	f.on(250, 0, f.option(2, []byte("usb")))
	f.on(1, 0, f.option(2, []byte("s1->c drops")))
	udp := []byte{0, 1, 0, 53, 0, 8, 0, 0}
	at := uint64(began)
	next := func(on int, data []byte, more int) { f.frame(on, at, data, len(data)+more); at += 10 }
	next(0, v4(2, 1, 17, 0, udp), 0)                                     // 28
	next(0, v4(1, 2, 17, 0, udp, 0x88a8, 0x8100), 0)                     // two tags
	next(0, append(v4(1, 2, 17, 0, udp), make([]byte, 18)...), 0)        // padded
	next(0, v4(1, 2, 17, 0x2000, make([]byte, 1480)), 0)                 // the first fragment
	next(0, v4(1, 2, 17, 185, make([]byte, 20)), 0)                      // the last one
	next(0, v6(5, 4, 58, make([]byte, 16)), 0)                           // 56
	next(0, v4(1, 2, 17, 0, make([]byte, 900))[:50], 884)                // cut off
	f.frame(1, 1000*(at-4), v4(3, 1, 6, 0, tcp(1, 2, 3, 0, 5))[14:], 45) // raw, in ns: before the one above
	next(0, append(make([]byte, 12), 8, 6, 1, 2, 3, 4), 0)               // ARP
	next(0, v4(1, 2, 17, 0, udp)[:30], 12)
	next(0, v4(224, 2, 17, 0, udp)[:26], 8)
	bad := v4(1, 2, 17, 0, udp)
	bad[14] = 0x41
	next(0, bad, 0)
	multicast := v4(1, 2, 17, 0, udp)
	copy(multicast[30:], []byte{239, 1, 1, 1})
	next(0, multicast, 0)
	next(0, v4(1, 1, 17, 0, udp), 0)
	next(2, v4(1, 2, 17, 0, udp), 0)
	next(3, v4(1, 2, 17, 0, udp), 0)
	f.block(3, f.u32(34), v4(1, 2, 17, 0, nil))
	s, err := pcapflows.Read(f.Bytes(), pcapflows.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range s.Packets {
		got = append(got, fmt.Sprintf("%v %d>%d %d", x.At, x.Src, x.Dst, x.Length))
	}
	want := "0s 1>0 28; 10us 0>1 28; 20us 0>1 28; 30us 0>1 1500; 40us 0>1 40; 50us 4>3 56; 60us 0>1 920; 66us 2>0 45"
	if strings.Join(got, "; ") != want || s.Interfaces != 2 || len(s.Flows) != 0 {
		t.Errorf("%s\nwant %s\n%d interfaces", strings.Join(got, "; "), want, s.Interfaces)
	}
	if want := netip.MustParseAddr("fd00::4"); len(s.Addresses) != 5 || s.Addresses[3] != want {
		t.Errorf("%v", s.Addresses)
	}
	const out = "{not IP 1} {cut off before the end of their headers 2} {with headers that cannot be 1} " +
		"{from or to groups of hosts, or none 1} {from an address to itself 1} {of a link layer that is not read 1} " +
		"{of drops and changes in a trace of Weir's 1} {without a time 1}"
	if left(s) != out {
		t.Errorf("left out %s\nwant %s", left(s), out)
	}
	only, err := pcapflows.Read(f.Bytes(),
		pcapflows.Selection{WantsInterface: func(name string) bool { return name == "tun0" }})
	if err != nil || len(only.Packets) != 1 || only.Packets[0].At != 66*unit.Microsecond {
		t.Errorf("%+v, %v", only, err)
	}
	ported, err := pcapflows.Read(f.Bytes(), pcapflows.Selection{Port: 53})
	if err != nil || len(ported.Packets) != 3 {
		t.Errorf("%+v, %v", ported, err)
	}
}

// exchange writes packets to a capture, 10 us apart.
func exchange(packets ...[]byte) []byte {
	f := begin(lsb)
	f.on(1, 0)
	for i, b := range packets {
		f.frame(0, began+10*uint64(i), b[:min(len(b), 90)], len(b))
	}
	return f.Bytes()
}

// up returns a segment of a connection from its client; down returns one from its server.
func up(seq uint32, flags byte, payload int) []byte {
	return v4(1, 2, 6, 0, tcp(4000, 80, seq, flags, payload))
}

func down(seq uint32, flags byte, payload int) []byte {
	return v4(2, 1, 6, 0, tcp(80, 4000, seq, flags, payload))
}

// TestRead_CountsStreamBytesOnce checks that a connection carries each byte once (RFC 9293). There are partial and
// full retransmissions, segments out of order, sequence numbers that wrap around, and the numbers of SYN and FIN.
func TestRead_CountsStreamBytesOnce(t *testing.T) {
	first := uint32(0xffffff00)
	for name, c := range map[string]struct {
		packets [][]byte
		want    string // start in us, from > to, bytes
		told    string
	}{
		"both ways": {[][]byte{up(first, syn, 0), down(9, syn|ack, 0), up(first+1, ack, 0),
			up(first+1, ack, 500),
			down(10, ack, 1000), down(1010, ack, 24), up(first+501, fin, 0), down(1034, fin, 6)},
			"30 0>1 500; 40 1>0 1030", "1 0 0 0 0"},
		"sent again": {[][]byte{up(5, syn, 0), up(5, syn, 0), up(6, ack, 100), up(6, ack, 100),
			up(56, ack, 100),
			up(106, ack, 10)}, "20 0>1 150", "1 0 0 2 0"},
		"out of order": {[][]byte{up(5, syn, 0), up(206, ack, 100), up(6, ack, 100), up(106, ack, 100)},
			"10 0>1 300", "1 0 0 0 0"},
		"lost by the capture": {[][]byte{up(5, syn, 0), up(6, ack, 100), up(306, ack, 100), up(206, ack, 50)},
			"10 0>1 400", "1 0 0 0 150"},
		"without its SYN": {[][]byte{up(first, ack, 300), down(70, ack, 0), up(first-100, ack, 100),
			up(first+300, ack, 1)},
			"0 0>1 301", "1 1 0 1 0"},
		"keepalive":       {[][]byte{up(5, syn, 0), up(5, ack, 1), up(5, ack, 0), up(6, ack, 3)}, "30 0>1 3", "1 0 0 1 0"},
		"data in the SYN": {[][]byte{up(5, syn, 40), up(46, ack, 3)}, "0 0>1 43", "1 0 0 0 0"},
		"nothing":         {[][]byte{up(5, syn, 0), down(5, ack|rst, 0)}, "", "1 0 1 0 0"},
		"two, one by one": {[][]byte{up(5, syn, 0), up(6, ack, 10), up(900, syn, 0),
			up(901, ack, 20)}, "10 0>1 10; 30 0>1 20", "2 0 0 0 0"},
		"far away": {[][]byte{up(5, syn, 0), up(6, ack, 10), up(5+1<<30+99, ack, 20)}, "10 0>1 10", "1 0 0 0 0"},
		"fragments": {[][]byte{v4(1, 2, 6, 0x2000, tcp(1, 2, 7, ack, 1460)),
			v4(1, 2, 6, 185, make([]byte, 540))}, "0 0>1 2000", "1 1 0 0 0"},
		"a later fragment": {[][]byte{v4(1, 2, 6, 185, make([]byte, 540))}, "", "0 0 0 0 0"},
		"IPv6": {[][]byte{v6(1, 2, 44, fragment6(0, 1, tcp(1, 2, 7, ack, 1204))),
			v6(1, 2, 44, fragment6(1224, 0, make([]byte, 76)))},
			"0 0>1 1280", "1 1 0 0 0"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := pcapflows.Read(exchange(c.packets...), pcapflows.Selection{Flows: true})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range s.Flows {
				got = append(got, fmt.Sprintf("%d %d>%d %d", f.Start/unit.Microsecond, f.Src, f.Dst, f.Bytes))
			}
			told := fmt.Sprint(s.Connections, s.Unopened, s.Empty, s.Repeated, s.Missing)
			if strings.Join(got, "; ") != c.want || told != c.told {
				t.Errorf("%s (%s), want %s (%s); left out %s", strings.Join(got, "; "), told, c.want, c.told, left(s))
			}
		})
	}
}

// FuzzRead_IsDeterministicAndValid checks that Read handles any file without a panic and with the same result each
// time, and that the result is valid input for a run.
func FuzzRead_IsDeterministicAndValid(f *testing.F) {
	f.Add(exchange(up(5, syn, 0), up(6, ack, 100), down(1, ack, 20)), uint16(0), true)
	f.Add(exchange(v4(1, 2, 17, 0x2000, make([]byte, 40)), v6(1, 2, 0, make([]byte, 32))), uint16(80), false)
	f.Add(pcapFile(lsb, 0xa1b2c3d4, 7), uint16(0), false)
	f.Fuzz(func(t *testing.T, b []byte, port uint16, flows bool) {
		want := pcapflows.Selection{Port: port, Flows: flows}
		s, err := pcapflows.Read(b, want)
		again, wrong := pcapflows.Read(b, want)
		if (err == nil) != (wrong == nil) {
			t.Fatalf("%v, then %v", err, wrong)
		}
		if err != nil {
			if at := (*pcapflows.BlockError)(nil); !errors.As(err, &at) || at.Block < 1 || at.Offset > int64(len(b)) {
				t.Errorf("%v", err)
			}
			return
		}
		if fmt.Sprint(s) != fmt.Sprint(again) {
			t.Errorf("%v, then %v", s, again)
		}
		last := unit.Time(0)
		for _, x := range s.Packets {
			if x.At < last || x.Length < 0 || x.Src == x.Dst || int(x.Src) >= len(s.Addresses) {
				t.Errorf("%+v after %v", x, last)
			}
			last = x.At
		}
		last = 0
		for _, x := range s.Flows {
			if x.Start < last || x.Bytes < 1 || x.Src == x.Dst || int(x.Dst) >= len(s.Addresses) {
				t.Errorf("%+v after %v", x, last)
			}
			last = x.Start
		}
	})
}
