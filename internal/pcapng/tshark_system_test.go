//go:build system

package pcapng_test

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
	"weir/internal/testkit"
)

// tshark runs Wireshark's dissectors over the file and returns their output. The dissectors do not decode the
// payload: it is zero, and Weir's ports belong to no protocol.
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

// needTshark skips the test if tshark is not installed.
func needTshark(t *testing.T) {
	t.Helper()
	testkit.RequireProgram(t, "tshark", "tshark")
}

// faultless writes a run's file. It checks that tshark finds no malformed packet, no violation of a protocol, no
// wrong checksum, and no match of the filters in more.
func faultless(t *testing.T, f *files, more ...string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "run.pcapng")
	if err := os.WriteFile(file, f.pcapng.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	faults := append([]string{"_ws.malformed", `_ws.expert.group == "Malformed"`, `_ws.expert.group == "Protocol"`,
		`_ws.expert.group == "Checksum"`}, more...)
	if found := tshark(t, file, "-Y", strings.Join(faults, " || ")); found != "" {
		t.Errorf("tshark finds fault with\n%.2000s", found)
	}
	return file
}

const undecoded = `_ws.expert.group == "Undecoded"`

// dissections returns tshark's output for the given number of packets: lines, and the fields in them by name.
func dissections(t *testing.T, file string, names []string, packets int) (lines []string, fields []map[string]string) {
	t.Helper()
	args := []string{"-T", "fields", "-E", "separator=|"}
	for _, x := range names {
		args = append(args, "-e", x)
	}
	lines = strings.Split(strings.TrimSuffix(tshark(t, file, args...), "\n"), "\n")
	if len(lines) != packets {
		t.Fatalf("%d packets, want %d", len(lines), packets)
	}
	for _, l := range lines {
		of := map[string]string{}
		for k, x := range strings.Split(l, "|") {
			of[names[k]] = x
		}
		fields = append(fields, of)
	}
	return lines, fields
}

// TestWriter_PassesTshark checks that Wireshark's tshark opens the pcapng of a TCP run without complaint, and finds
// no malformed packet and no bad checksum. It reads the events' times, lengths, addresses, sequence numbers and
// flags.
func TestWriter_PassesTshark(t *testing.T) {
	needTshark(t)
	f := captureRuns(t, "*")
	file := faultless(t, f, "_ws.unreassembled", undecoded)
	// the filters above can match: TCP's analysis does give expert information
	if tshark(t, file, "-Y", "_ws.expert.group == \"Sequence\"") == "" {
		t.Error("tshark has no expert information at all")
	}
	for _, l := range strings.Split(tshark(t, file, "-V"), "\n") {
		if low := strings.ToLower(l); strings.Contains(low, "malformed") || strings.Contains(low, "bad checksum") ||
			strings.Contains(low, "incorrect") || strings.Contains(low, "bogus") {
			t.Errorf("tshark -V: %s", l)
		}
	}
	checkFields(t, f.transmitted(), file)
}

// fields are the fields that tshark prints for each packet.
var fields = []string{"frame.interface_name", "frame.time_epoch", "frame.len", "frame.cap_len", "eth.type", "ip.src",
	"ipv6.src", "ip.proto", "ip.dsfield", "ipv6.tclass", "tcp.srcport", "tcp.dstport", "tcp.seq_raw", "tcp.ack_raw",
	"tcp.flags", "tcp.len", "udp.srcport", "udp.length", "frame.comment"}

// checkFields compares tshark's fields of the file with the events.
func checkFields(t *testing.T, want []trace.Record, file string) {
	_, got := dissections(t, file, fields, len(want))
	v6, tcp, comments := 0, 0, 0
	for i := range want {
		d := dissected{t: t, number: i + 1, want: &want[i], got: got[i]}
		d.check()
		if d.got["eth.type"] == "0x86dd" {
			v6++
		}
		if d.got["ip.proto"] == "253" {
			continue
		}
		if want[i].Proto == packet.ProtoTCP {
			tcp++
		}
		if want[i].Kind == trace.Drop {
			comments++
		}
	}
	if v6 < 20 || tcp < 100 || comments == 0 {
		t.Errorf("only %d packets of IPv6, %d of TCP, %d drops", v6, tcp, comments)
	}
}

// dissected is a packet with tshark's fields.
type dissected struct {
	t      *testing.T
	number int
	want   *trace.Record
	got    map[string]string
}

func (d *dissected) equal(field, want string) {
	if d.got[field] != want {
		d.t.Fatalf("packet %d: %s is %s, want %s: %s", d.number, field, d.got[field], want, trace.AppendText(nil, d.want))
	}
}

func (d *dissected) count(field string, want int64) {
	n, err := strconv.ParseInt(d.got[field], 0, 64)
	if err != nil || n != want {
		d.t.Fatalf("packet %d: %s is %s, want %d: %s", d.number, field, d.got[field], want, trace.AppendText(nil, d.want))
	}
}

func (d *dissected) check() {
	w := d.want
	d.equal("frame.interface_name", interfaceName(w))
	d.equal("frame.time_epoch", trace.FormatSeconds(w.At - w.At%unit.Nanosecond)[:len(trace.FormatSeconds(w.At))-3])
	d.count("frame.len", w.Size)
	d.count("frame.cap_len", int64(len(w.Frame)))
	d.equal("frame.comment", w.Reason)
	address := "." + map[string]string{"a": "1", "b": "2", "c": "3"}[w.Src]
	if d.got["eth.type"] == "0x86dd" {
		d.equal("ipv6.src", "fd00::"+address[1:])
		d.count("ipv6.tclass", int64(w.TOS))
	} else {
		d.equal("ip.src", "10.0.0"+address)
		d.count("ip.dsfield", int64(w.TOS))
	}
	if d.got["ip.proto"] == "253" { // behind Weir's extensions tshark sees bytes
		return
	}
	switch w.Proto {
	case packet.ProtoTCP:
		d.count("tcp.srcport", int64(w.SrcPort))
		d.count("tcp.dstport", int64(w.DstPort))
		d.count("tcp.seq_raw", w.Seq)
		if w.TCPFlags&packet.ACK != 0 {
			d.count("tcp.ack_raw", w.Ack)
		}
		d.count("tcp.flags", int64(w.TCPFlags))
		d.count("tcp.len", w.Payload)
	case packet.ProtoUDP:
		d.count("udp.srcport", int64(w.SrcPort))
		d.count("udp.length", w.Payload+packet.UDPHeader)
	}
}
