package sockdiag

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"weir/core/unit"
)

func littleEndian(t *testing.T) {
	t.Helper()
	if !isLittleEndian {
		t.Skip("written for little-endian machines") //weir:impure the expected bytes are little-endian
	}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.NewReplacer(" ", "", "\n", "", "\t", "").Replace(s))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestAppendRequest_MatchesKernelLayout checks a request against bytes written by hand, from linux/netlink.h and
// linux/inet_diag.h (struct inet_diag_req_v2).
func TestAppendRequest_MatchesKernelLayout(t *testing.T) {
	littleEndian(t)
	local, remote := netip.MustParseAddrPort("10.0.0.1:1234"), netip.MustParseAddrPort("10.0.0.2:443")
	got := appendRequest(nil, 7, flagDump, inet, 1<<Established|1<<TimeWait, local, remote)
	want := unhex(t, `48000000 1400 0103 07000000 00000000
		02 06 4e 00 42000000
		04d2 01bb 0a000001000000000000000000000000 0a000002000000000000000000000000
		00000000 ffffffff ffffffff`)
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%x\nwant\n%x", got, want)
	}
	six := netip.MustParseAddrPort("[2001:db8::1]:1")
	got = appendRequest(got[:0], 7, 0, inet6, 1, six, six)
	if got[16] != inet6 || hex.EncodeToString(got[28:44]) != "20010db8000000000000000000000001" {
		t.Errorf("%x", got)
	}
}

// TestParseInfo checks that the fields are at their places in linux/tcp.h of 6.18.
func TestParseInfo(t *testing.T) {
	littleEndian(t)
	b := make([]byte, infoBytes)
	for i := range 8 {
		b[i] = byte(i + 1)
	}
	b[6], b[7] = 0xa7, 0x05 // snd_wscale 7, rcv_wscale 10; app limited, fastopen_client_fail 2
	for at := 8; at < infoBytes; at += 4 {
		if at >= 104 && at < 136 || at >= 160 && at < 192 || at >= 200 && at < 216 { // 64 bits wide
			if at%8 == 0 {
				ne.PutUint64(b[at:], uint64(at))
			}
			continue
		}
		ne.PutUint32(b[at:], uint32(at))
	}
	ne.PutUint16(b[242:], 242)
	const us, ms = unit.Microsecond, unit.Millisecond
	want := Info{
		Size: 280, State: Established, CAState: CAState(2), Retransmits: 3, Probes: 4, Backoff: 5, Options: 6,
		SendWindowScale: 7, ReceiveWindowScale: 10, AppLimited: true, FastOpenFail: 2,
		RTO: 8 * us, ATO: 12 * us, SendMSS: 16, ReceiveMSS: 20, Unacked: 24, Sacked: 28, Lost: 32, Retrans: 36, Fackets: 40,
		LastDataSent: 44 * ms, LastAckSent: 48 * ms, LastDataReceived: 52 * ms, LastAckReceived: 56 * ms,
		PathMTU: 60, ReceiveSsthresh: 64, RTT: 68 * us, RTTVar: 72 * us, Ssthresh: 76, Window: 80, AdvertisedMSS: 84,
		Reordering: 88,
		ReceiveRTT: 92 * us, ReceiveSpace: 96, TotalRetrans: 100, PacingRate: 832, MaxPacingRate: 896, BytesAcked: 120,
		BytesReceived: 128,
		SegmentsOut:   136, SegmentsIn: 140, NotSent: 144, MinRTT: 148 * us, DataSegmentsIn: 152, DataSegmentsOut: 156,
		DeliveryRate: 1280,
		BusyTime:     168 * us, WindowLimited: 176 * us, BufferLimited: 184 * us, Delivered: 192, DeliveredCE: 196,
		BytesSent: 200, BytesRetrans: 208, DSACKs: 216, ReorderingSeen: 220, OutOfOrder: 224, SendWindow: 228,
		ReceiveWindow: 232,
		Rehash:        236, Timeouts: 240, TimeoutRecoveries: 242, TimeoutTime: 244 * ms, ReceivedCE: 248,
		DeliveredE1Bytes: 252, DeliveredE0Bytes: 256, DeliveredCEBytes: 260, ReceivedE1Bytes: 264, ReceivedE0Bytes: 268,
		ReceivedCEBytes: 272,
		AccECN:          276,
	}
	var got Info
	got.parseInfo(b)
	if got != want {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	if got.InFlight() != 24-28-32+36 {
		t.Error(got.InFlight())
	}

	// The bytes of each field in the table change that field, and shorter input leaves it out.
	last := 104
	for f := range fieldCount {
		x := fields[f]
		if x.end <= last || x.end-last > 8 || x.name == "" || x.since == "" {
			t.Errorf("%v ends at %d, the one before at %d; since %q", f, x.end, last, x.since)
		}
		changed := append([]byte(nil), b...)
		for i := last; i < x.end; i++ {
			changed[i] ^= 1
		}
		var other, short Info
		other.parseInfo(changed)
		if other == got {
			t.Errorf("%v: bytes %d to %d are of no field", f, last, x.end)
		}
		short.parseInfo(b[:x.end-1])
		if short.hasField(f) || !got.hasField(f) || f > 0 && !short.hasField(f-1) {
			t.Errorf("%v of %d bytes: %v; of all: %v", f, x.end-1, short.hasField(f), got.hasField(f))
		}
		last = x.end
	}
	if last != infoBytes {
		t.Errorf("the fields end at %d", last)
	}
}

// TestParseInfoLimits checks values that stand for no limit or no value, and values that are too large.
func TestParseInfoLimits(t *testing.T) {
	var i Info
	i.parseInfo(bytes.Repeat([]byte{0xff}, infoBytes+40)) // a later kernel sends more
	if i.PacingRate != NoLimit || i.MinRTT != unit.Never || i.BusyTime != unit.Never || i.BytesAcked < 0 ||
		!i.hasField(accECN) {
		t.Errorf("%+v", i)
	}
	i.parseInfo(nil)
	if i != (Info{}) {
		t.Errorf("%+v", i)
	}
}

// answer returns a message about a socket of IPv4, with attributes.
func answer(seq uint32, flags uint16, attributes ...[]byte) []byte {
	b := make([]byte, headerBytes, 512)
	b = append(b, inet, byte(Established), 0, 0, 0x04, 0xd2, 0x01, 0xbb, 10, 0, 0, 1)
	b = append(append(b, make([]byte, 12)...), 10, 0, 0, 2)
	b = append(b, make([]byte, 12)...)
	for _, v := range []uint32{0, 5, 6, 0, 1000, 2000, 3000, 4000} { // interface, cookie, expires, queues, user, inode
		b = ne.AppendUint32(b, v)
	}
	for _, a := range attributes {
		b = append(b, a...)
	}
	return message(b, byFamily, flags, seq)
}

func message(b []byte, kind, flags uint16, seq uint32) []byte {
	ne.PutUint32(b, uint32(len(b)))
	ne.PutUint16(b[4:], kind)
	ne.PutUint16(b[6:], flags)
	ne.PutUint32(b[8:], seq)
	return b
}

func attribute(kind uint16, value ...uint32) []byte {
	b := ne.AppendUint16(nil, uint16(4+4*len(value)))
	b = ne.AppendUint16(b, kind)
	for _, v := range value {
		b = ne.AppendUint32(b, v)
	}
	return b
}

func name(s string) []byte {
	b := ne.AppendUint16(nil, uint16(4+len(s)+1))
	b = append(ne.AppendUint16(b, extControl), s...)
	for b = append(b, 0); len(b)%4 != 0; {
		b = append(b, 0)
	}
	return b
}

func acknowledge(kind uint16, seq uint32, code syscall.Errno) []byte {
	return message(ne.AppendUint32(make([]byte, headerBytes), uint32(-int32(code))), kind, 0, seq)
}

func TestParseSockets_ReadsAnswers(t *testing.T) {
	info := attribute(extInfo, make([]uint32, infoBytes/4)...)
	info[4] = byte(Established)
	one := answer(7, 0, info, name("bbr"), attribute(extBBR, 1000, 1, 10000, 739, 512),
		attribute(extSkMem, 1, 2, 3, 4, 5, 6, 7, 8, 9), attribute(999, 1))
	other := answer(7, 0, name("dctcp"), attribute(extDCTCP, 1|1<<16, 1024, 2, 3))
	vegas := answer(7, 0, attribute(extVegas, 1, 2, 3, 4))
	stale := acknowledge(messageError, 6, syscall.EBUSY)
	end := acknowledge(messageDone, 7, 0)

	got, done, err := parseSockets(bytes.Join([][]byte{stale, one, other, vegas, end}, nil), 7, false, nil)
	if err != nil || !done || len(got) != 3 {
		t.Fatalf("%d sockets, %v, %v", len(got), done, err)
	}
	s := Socket{
		Local: netip.MustParseAddrPort("10.0.0.1:1234"), Remote: netip.MustParseAddrPort("10.0.0.2:443"), State: Established,
		Received: 1000, Unsent: 2000, UID: 3000, Inode: 4000, Cookie: 5 | 6<<32,
	}
	s.Cookie = 5 | 6<<32
	first := s
	first.CongestionControl = Name{'b', 'b', 'r'}
	first.Info = Info{Size: infoBytes, State: Established}
	if !isLittleEndian {
		first.Info = got[0].Info
	}
	first.BBR = BBR{Known: true, Bandwidth: 8 * (1000 + 1<<32), MinRTT: 10 * unit.Millisecond, PacingGain: 739,
		WindowGain: 512}
	first.Memory = Memory{true, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	second := s
	second.CongestionControl = Name{'d', 'c', 't', 'c', 'p'}
	second.DCTCP = DCTCP{Known: true, Enabled: true, CE: true, Alpha: 1024, AckedECN: 2, AckedBoth: 3}
	third := s
	third.Vegas = Vegas{Known: true, Enabled: true, Samples: 2, RTT: 3 * unit.Microsecond, MinRTT: 4 * unit.Microsecond}
	for i, want := range []Socket{first, second, third} {
		if !reflect.DeepEqual(got[i], want) {
			t.Errorf("got\n%+v\nwant\n%+v", got[i], want)
		}
	}
	if n := got[0].CongestionControl; !n.equals("bbr") || n.equals("bb") || n.equals("bbr2") || n.String() != "bbr" {
		t.Errorf("%v", n)
	}

	// A separate message ends a dump; the answer about one socket ends itself.
	if _, done, err = parseSockets(one, 7, false, nil); done || err != nil {
		t.Errorf("%v, %v", done, err)
	}
	if _, done, err = parseSockets(one, 7, true, nil); !done || err != nil {
		t.Errorf("%v, %v", done, err)
	}
	for _, x := range []struct {
		what string
		b    []byte
		want error
		done bool
	}{
		{"refused", acknowledge(messageError, 7, syscall.ENOENT), syscall.ENOENT, true},
		{"ended by an error", acknowledge(messageDone, 7, syscall.EBADMSG), syscall.EBADMSG, true},
		{"interrupted", append(answer(7, flagInterrupt), end...), errInterrupted, true},
		{"interrupted, and goes on", answer(7, flagInterrupt), errInterrupted, false},
		{"overrun", message(make([]byte, headerBytes), messageOverrun, 0, 7), nil, true},
		{"short", one[:len(one)-1], nil, false},
		{"no socket", message(make([]byte, headerBytes+40), byFamily, 0, 7), nil, false},
		{"no family", message(make([]byte, headerBytes+socketBytes), byFamily, 0, 7), nil, false},
		{"an attribute that lies", answer(7, 0, []byte{9, 0, 1, 0, 0, 0, 0, 0}), nil, false},
	} {
		t.Run(x.what, func(t *testing.T) {
			_, done, err := parseSockets(x.b, 7, false, nil)
			if err == nil || x.want != nil && !errors.Is(err, x.want) || done != x.done {
				t.Errorf("%s: %v, %v", x.what, done, err)
			}
		})
	}
}

// TestParseSockets_UnmapsIPv4 checks that IPv4 over a socket of IPv6 is reported as IPv4.
func TestParseSockets_UnmapsIPv4(t *testing.T) {
	b := answer(7, 0)
	b[headerBytes] = inet6
	mapped := netip.MustParseAddr("::ffff:10.0.0.1").As16()
	copy(b[headerBytes+8:], mapped[:])
	copy(b[headerBytes+24:], mapped[:])
	got, _, err := parseSockets(b, 7, false, nil)
	if err != nil || got[0].Local != netip.MustParseAddrPort("10.0.0.1:1234") ||
		got[0].Remote != netip.MustParseAddrPort("10.0.0.1:443") {
		t.Errorf("%v, %v", got, err)
	}
}

func TestString_NamesStatesAndFields(t *testing.T) {
	for _, x := range []struct {
		got  fmt.Stringer
		want string
	}{
		{TimeWait, "TIME-WAIT"}, {TCPState(0), "state 0"}, {TCPState(99), "state 99"}, {caLoss, "loss"}, {CAState(9),
			"state 9"},
		{rehash, "tcpi_rehash"}, {fieldCount, "field 35"}, {Name{}, ""}, {Name([]byte("sixteen bytes 16")),
			"sixteen bytes 16"},
	} {
		t.Run(cmp.Or(x.want, "no name"), func(t *testing.T) {
			if x.got.String() != x.want {
				t.Errorf("%q, want %q", x.got, x.want)
			}
		})
	}
}

// TestParseAllocations checks that parsing a dump into a large enough slice does not allocate.
func TestParseAllocations(t *testing.T) {
	b := bytes.Join([][]byte{answer(7, 0, name("bbr"), attribute(extInfo, make([]uint32, 70)...)), answer(7, 0),
		acknowledge(messageDone, 7, 0)}, nil)
	room := make([]Socket, 0, 2)
	if n := testing.AllocsPerRun(100, func() { parseSockets(b, 7, false, room) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzParseSockets_StaysWithinInput checks that no input makes the parser panic or return more sockets than the
// input has.
func FuzzParseSockets_StaysWithinInput(f *testing.F) {
	f.Add(answer(7, 0, name("cubic"), attribute(extInfo, make([]uint32, 58)...)), false)
	f.Add(append(answer(7, flagInterrupt, attribute(extSkMem, 1, 2, 3, 4, 5, 6, 7, 8)), acknowledge(messageDone, 7, 0)...),
		false)
	f.Add(answer(7, 0, attribute(extBBR, 1, 2, 3, 4, 5), attribute(extDCTCP, 1, 2, 3, 4), attribute(extVegas, 1, 2, 3, 4)),
		true)
	f.Add(acknowledge(messageError, 7, syscall.EPERM), true)
	f.Add(bytes.Repeat([]byte{0xff}, 100), false)
	f.Fuzz(func(t *testing.T, b []byte, one bool) {
		sockets, done, err := parseSockets(b, 7, one, nil)
		if len(sockets) > len(b)/(headerBytes+socketBytes) {
			t.Errorf("%d sockets of %d bytes", len(sockets), len(b))
		}
		if one && len(sockets) > 0 && err == nil && !done {
			t.Error("an answer about one socket is not its end")
		}
		for _, s := range sockets {
			if !s.Local.IsValid() || !s.Remote.IsValid() || s.Info.RTT < 0 || s.Info.PacingRate < 0 || s.Info.BytesSent < 0 ||
				s.Info.BusyTime < 0 {
				t.Errorf("%+v", s)
			}
		}
	})
}
