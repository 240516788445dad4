// Package frametest has Ethernet frames for tests of code that reads and writes them.
package frametest

import (
	"encoding/hex"
	"strings"
)

// NamedFrame is a named frame in the form that a wire carries.
type NamedFrame struct {
	Name  string
	Bytes []byte
}

// AllFrames returns a frame of each kind that a switch handles differently, or must not.
func AllFrames() (all []NamedFrame) {
	const (
		hosts = "020000000002 020000000001"
		// 28 bytes of IPv4 and UDP from 10.9.0.1 to 10.9.0.2, 4 bytes of payload; ECT(0).
		ip4 = "4502 0020 1234 4000 4011 146b 0a090001 0a090002 1000 0007 000c 0000 77656972"
		// The same in IPv6, with a traffic class and a flow label.
		ip6 = "6ab12345 000c 11 40 fd090000000000000000000000000001 fd090000000000000000000000000002 1000 0007 " +
			"000c 1234 77656972"
		pad = "000000000000000000000000000000000000"
	)
	for _, x := range [][2]string{
		{"ARP request", "ffffffffffff 020000000001 0806 0001 0800 06 04 0001 020000000001 0a090001 000000000000 0a090002" +
			pad},
		{"LLDP", "0180c200000e 020000000001 88cc 0207 04 020000000001 0403 05 6731 0602 0078 0000" + pad + pad},
		{"BPDU", "0180c2000000 020000000001 0026 42 42 03 0000 00 00 00 8000 020000000001 00000000 8000 020000000001 8001 " +
			"0000 1400 0200 0f00 0000000000000000"},
		{"pause frame", "0180c2000001 020000000001 8808 0001 ffff" + pad + pad + "000000000000"},
		{"EAPOL", "0180c2000003 020000000001 888e 01 01 0000" + pad + pad + "0000000000"},
		{"neighbour solicitation", "3333ff000002 020000000001 86dd 60000000 0020 3a ff fe800000000000000000000000000001 " +
			"ff0200000000000000000001ff000002 87 00 1234 00000000 fe800000000000000000000000000002 0101 020000000001"},
		{"IPv4", hosts + "0800" + ip4 + pad},
		{"IPv4 with a wrong checksum", hosts + "0800" + strings.Replace(ip4, "146b", "beef", 1) + pad},
		{"IPv4 with padding that says something", hosts + "0800" + ip4 + "dead beef dead beef dead beef dead beef"},
		{"IPv4 options", hosts + "0800 4600 0020 1234 4000 4001 0000 0a090001 0a090002 94040000 0800 f7ff 0000 0000" + pad},
		{"fragment", hosts + "0800 4500 0020 1234 2001 4011 0000 0a090001 0a090002 0000 0000 0000 0000 0000 0000" + pad},
		{"ESP", hosts + "0800 4500 0020 1234 4000 4032 0000 0a090001 0a090002 0000 0001 0000 0001 aaaa aaaa" + pad},
		{"IPv4 of which half is missing", hosts + "0800 4500 05dc 1234 4000 4011 0000 0a090001 0a090002" + pad + pad},
		{"TCP whose header lies", hosts + "0800 4500 0028 1234 4000 4006 0000 0a090001 0a090002 1000 0007 00000000 " +
			"00000000 f010 ffff 0000 0000" + pad},
		{"IPv6", hosts + "86dd" + ip6},
		{"IPv6 extension headers", hosts +
			"86dd 60000000 0010 00 01 fe800000000000000000000000000001 ff020000000000000000000000000016 3a00 0502 0000 0100 " +
			"8f00 0000 0000 0000"},
		{"802.1Q with IPv4", hosts + "8100 2005 0800" + ip4 + pad},
		{"802.1Q priority tag", hosts + "8100 e000 0800" + ip4 + pad},
		{"802.1Q, drop eligible, with ARP", "ffffffffffff 020000000001 8100 7fff 0806 0001 0800 06 04 0001 020000000001 " +
			"0a090001 000000000000 0a090002" + pad},
		{"QinQ with IPv6", hosts + "88a8 0064 8100 00c8 86dd" + ip6},
		{"two tags of 802.1Q", hosts + "8100 0064 8100 00c8 0800" + ip4 + pad},
		{"three tags", hosts + "88a8 0064 8100 00c8 8100 012c 0800" + ip4 + pad},
		{"PPPoE session with IPv4", hosts + "8864 11 00 0001 0022 0021" + ip4 + pad},
		{"PPPoE discovery", hosts + "8863 11 09 0000 0004 01010000" + pad + pad},
		{"MPLS", hosts + "8847 00064 1 40" + ip4 + pad},
		{"unknown type", hosts + "88b5" + pad + pad + pad},
		{"the longest", hosts + "0800 4500 05dc 1234 4000 4011 0000 0a090001 0a090002 1000 0007 05c8 0000" +
			strings.Repeat("5a", 1472)},
		{"the longest with a tag", hosts + "8100 0007 0800 4500 05dc 1234 4000 4011 0000 0a090001 0a090002 1000 " +
			"0007 05c8 0000" + strings.Repeat("a5", 1472)},
		{"the shortest", hosts + "0842"},
	} {
		b, err := hex.DecodeString(strings.ReplaceAll(x[1], " ", ""))
		if err != nil {
			panic(x[0] + ": " + err.Error())
		}
		all = append(all, NamedFrame{x[0], b})
	}
	return all
}
