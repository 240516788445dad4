package capture_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"weir/core/packet"
	"weir/core/trace"
	"weir/core/unit"
)

// tshark runs Wireshark's dissectors over the file and returns what they print. They
// take the payload for nobody's: it is zero, and Weir's ports are no protocol's.
func tshark(t *testing.T, file string, args ...string) string {
	t.Helper()
	cmd := exec.Command("tshark", append([]string{"-r", file, "-n", "-o", "ip.check_checksum:TRUE", "-o",
		"tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	for _, l := range strings.Split(errs.String(), "\n") {
		if l != "" && !strings.HasPrefix(l, "Running as user") {
			t.Errorf("tshark complains: %s", l)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Wireshark's tshark opens the pcapng of a TCP run without complaint, finds nothing
// malformed and no bad checksum, and reads the events' times, lengths, addresses,
// sequence numbers and flags.
func TestTshark(t *testing.T) {
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("tshark is not installed (README, Tests)")
	}
	f := run(t, "*")
	file := filepath.Join(t.TempDir(), "run.pcapng")
	if err := os.WriteFile(file, f.pcapng.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if found := tshark(t, file, "-Y", "_ws.malformed || _ws.unreassembled || _ws.expert.group == \"Malformed\" || "+
		"_ws.expert.group == \"Protocol\" || _ws.expert.group == \"Checksum\" || _ws.expert.group == "+
		"\"Undecoded\""); found != "" {
		t.Errorf("tshark finds fault with\n%.2000s", found)
	}
	// the filter above is one that finds: TCP's analysis has something to say
	if tshark(t, file, "-Y", "_ws.expert.group == \"Sequence\"") == "" {
		t.Error("tshark has no expert information at all")
	}
	for _, l := range strings.Split(tshark(t, file, "-V"), "\n") {
		if low := strings.ToLower(l); strings.Contains(low, "malformed") || strings.Contains(low, "bad checksum") ||
			strings.Contains(low, "incorrect") || strings.Contains(low, "bogus") {
			t.Errorf("tshark -V: %s", l)
		}
	}
	fields := []string{"frame.interface_name", "frame.time_epoch", "frame.len", "frame.cap_len", "eth.type", "ip.src",
		"ipv6.src", "ip.proto",
		"ip.dsfield", "ipv6.tclass", "tcp.srcport", "tcp.dstport", "tcp.seq_raw", "tcp.ack_raw", "tcp.flags", "tcp.len",
		"udp.srcport", "udp.length", "frame.comment"}
	args := []string{"-T", "fields", "-E", "separator=|"}
	for _, x := range fields {
		args = append(args, "-e", x)
	}
	lines := strings.Split(strings.TrimSuffix(tshark(t, file, args...), "\n"), "\n")
	want := f.transmitted()
	if len(lines) != len(want) {
		t.Fatalf("%d packets, want %d", len(lines), len(want))
	}
	v6, tcp, comments := 0, 0, 0
	for i := range want {
		w := &want[i]
		got := map[string]string{}
		for k, x := range strings.Split(lines[i], "|") {
			got[fields[k]] = x
		}
		line := trace.AppendText(nil, w)
		equal := func(field, want string) {
			if got[field] != want {
				t.Fatalf("packet %d: %s is %s, want %s: %s", i+1, field, got[field], want, line)
			}
		}
		number := func(field string) int64 {
			n, err := strconv.ParseInt(got[field], 0, 64)
			if err != nil {
				t.Fatalf("packet %d: %s: %v: %s", i+1, field, err, line)
			}
			return n
		}
		count := func(field string, want int64) {
			if n := number(field); n != want {
				t.Fatalf("packet %d: %s is %d, want %d: %s", i+1, field, n, want, line)
			}
		}
		equal("frame.interface_name", interfaceName(w))
		equal("frame.time_epoch", trace.Seconds(w.At - w.At%unit.Nanosecond)[:len(trace.Seconds(w.At))-3])
		count("frame.len", w.Size)
		count("frame.cap_len", int64(len(w.Frame)))
		equal("frame.comment", w.Reason)
		address := "." + map[string]string{"a": "1", "b": "2", "c": "3"}[w.Src]
		if got["eth.type"] == "0x86dd" {
			v6++
			equal("ipv6.src", "fd00::"+address[1:])
			count("ipv6.tclass", int64(w.TOS))
		} else {
			equal("ip.src", "10.0.0"+address)
			count("ip.dsfield", int64(w.TOS))
		}
		if shim := got["ip.proto"] == "253"; shim { // behind Weir's extensions tshark sees bytes
			continue
		}
		switch w.Proto {
		case packet.ProtoTCP:
			tcp++
			count("tcp.srcport", int64(w.SrcPort))
			count("tcp.dstport", int64(w.DstPort))
			count("tcp.seq_raw", w.Seq)
			if w.TCPFlags&packet.ACK != 0 {
				count("tcp.ack_raw", w.Ack)
			}
			count("tcp.flags", int64(w.TCPFlags))
			count("tcp.len", w.Payload)
		case packet.ProtoUDP:
			count("udp.srcport", int64(w.SrcPort))
			count("udp.length", w.Payload+packet.UDPHeader)
		}
		if w.Kind == trace.Drop {
			comments++
		}
	}
	if v6 < 20 || tcp < 100 || comments == 0 {
		t.Errorf("only %d packets of IPv6, %d of TCP, %d drops", v6, tcp, comments)
	}
}
