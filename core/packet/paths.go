package packet

// Paths says by which ports of one switch the addresses of a run are reached. What
// does not differ between switches, and sets of ports that are equal, the switches of
// a network share, so nothing of it may be changed.
type Paths struct {
	// Class is the class of an address; a switch reaches those of one class alike, but
	// for its Own. 0: no path. Shared by all switches.
	Class []uint32
	Via   []uint32   // by class, the set of ports that leads there: an index into Sets
	Sets  [][]PortID // the first is empty; ports ascend in each
	Own   uint32     // the class that is reached by Port; 0: there is none
	Port  []PortID   // by address, the port that leads there from the switch whose Own its class is. Shared
}

// To returns the ports by which an address is reached; none if it is not, or unknown.
func (s *Paths) To(a Addr) []PortID {
	if int(a) >= len(s.Class) {
		return nil
	}
	c := s.Class[a]
	if c == s.Own && c != 0 {
		return s.Port[a : a+1 : a+1]
	}
	return s.Sets[s.Via[c]]
}

// SetTo is To with the number of the set of ports, an index into Sets; −1 where the port is
// that of the address alone, or there is none.
func (s *Paths) SetTo(a Addr) ([]PortID, int) {
	if int(a) < len(s.Class) {
		if c := s.Class[a]; c != s.Own || c == 0 {
			return s.Sets[s.Via[c]], int(s.Via[c])
		}
	}
	return s.To(a), -1
}
