package packet

// Paths has the ports of one switch by which the addresses of a run are reached. The switches of a network share all
// parts that do not differ, and equal sets of ports. So Paths must not be changed.
type Paths struct {
	// Class is the class of an address. A switch reaches all addresses of a class by the same ports, except those of
	// class OwnClass. 0: no path. All switches share it.
	Class    []uint32
	Via      []uint32   // by class, the set of ports: an index into Sets
	Sets     [][]PortID // the first is empty; ports ascend in each
	OwnClass uint32     // the class in which each address has its own port in Port; 0: no such class
	Port     []PortID   // by address, the port from the switch that has the address's class as OwnClass. Shared
}

// PortsTo returns the ports by which an address is reached. The list is empty for an unknown address or without a path.
func (s *Paths) PortsTo(a Addr) []PortID {
	if int(a) >= len(s.Class) {
		return nil
	}
	c := s.Class[a]
	if c == s.OwnClass && c != 0 {
		return s.Port[a : a+1 : a+1]
	}
	return s.Sets[s.Via[c]]
}

// PortSetTo is PortsTo with the index of the ports in Sets. The index is −1 if the address has a port of its own or is
// unknown.
func (s *Paths) PortSetTo(a Addr) ([]PortID, int) {
	if int(a) < len(s.Class) {
		if c := s.Class[a]; c != s.OwnClass || c == 0 {
			return s.Sets[s.Via[c]], int(s.Via[c])
		}
	}
	return s.PortsTo(a), -1
}
