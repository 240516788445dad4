// Flows of TCP through a network in stock ns-3, as `weir bench peers` writes them down: links with their rates and
// delays, and flows with the paths that Weir's packets took. It prints each flow's completion time and how many packets
// arrived over links, for how much CPU time.
//
// One argument, the file:
//   cc dctcp|cubic   mss BYTES   window SEGMENTS   queue PACKETS   mark PACKETS   rto_ms MS   hystart on|off
//   nodes N
//   link A B RATE_BPS DELAY_PS
//   flow BYTES data NODE NODE … acks NODE NODE …

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <sys/resource.h>

#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace {

struct Flow {
    uint64_t bytes = 0, got = 0;
    std::vector<uint32_t> data, acks; // nodes, from end to end
    int64_t done = -1;                // ns
};

std::vector<Flow> flows;
size_t finished = 0;
uint64_t hops = 0, drops = 0;

void Arrive(Ptr<const Packet>) { ++hops; }

void Drop(Ptr<const Packet>) { ++drops; }

void DropItem(Ptr<const QueueDiscItem>) { ++drops; }

void Got(uint32_t i, Ptr<const Packet> p, const Address&) {
    Flow& f = flows[i];
    f.got += p->GetSize();
    if (f.got >= f.bytes && f.done < 0) {
        f.done = Simulator::Now().GetNanoSeconds();
        if (++finished == flows.size()) Simulator::Stop();
    }
}

double Cpu() {
    rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_utime.tv_sec + u.ru_stime.tv_sec + 1e-6 * (u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

[[noreturn]] void Fail(const std::string& what) {
    std::cerr << what << std::endl;
    exit(1);
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) Fail("one argument: the file");
    std::ifstream in(argv[1]);
    if (!in) Fail(std::string("cannot read ") + argv[1]);
    std::map<std::string, std::string> set;
    NodeContainer nodes;
    struct Link { uint32_t a, b; uint64_t rate, delay; };
    std::vector<Link> links;
    for (std::string line; std::getline(in, line);) {
        std::istringstream s(line);
        std::string key, word;
        s >> key;
        if (key == "nodes") {
            uint32_t n = 0;
            s >> n;
            nodes.Create(n);
        } else if (key == "link") {
            Link l{};
            s >> l.a >> l.b >> l.rate >> l.delay;
            links.push_back(l);
        } else if (key == "flow") {
            Flow f;
            s >> f.bytes;
            std::vector<uint32_t>* to = nullptr;
            while (s >> word) {
                if (word == "data") to = &f.data;
                else if (word == "acks") to = &f.acks;
                else if (to) to->push_back(std::stoul(word));
            }
            if (f.data.size() < 2 || f.acks.size() < 2) Fail("a flow without paths: " + line);
            flows.push_back(f);
        } else if (!key.empty()) {
            s >> set[key];
        }
    }
    const bool dctcp = set["cc"] == "dctcp";
    const uint32_t mss = std::stoul(set["mss"]), mark = std::stoul(set["mark"]);
    const std::string queue = set["queue"] + "p";

    Config::SetDefault("ns3::TcpL4Protocol::SocketType",
                       TypeIdValue(TypeId::LookupByName(dctcp ? "ns3::TcpDctcp" : "ns3::TcpCubic")));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(mss));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(std::stoul(set["window"])));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(32 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(32 << 20));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(std::stoul(set["rto_ms"]))));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(MilliSeconds(std::stoul(set["rto_ms"]))));
    Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(set["hystart"] != "off"));
    if (dctcp) Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue("On"));

    InternetStackHelper internet;
    internet.SetIpv6StackInstall(false);
    internet.InstallAll();
    PointToPointHelper cable;
    TrafficControlHelper control;
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> interfaces; // of a node, towards another
    for (const Link& l : links) {
        const DataRate rate(l.rate);
        cable.SetDeviceAttribute("DataRate", DataRateValue(rate));
        cable.SetChannelAttribute("Delay", TimeValue(PicoSeconds(l.delay)));
        // With marks, a RED queue disc that marks from a length on, over a device queue of one packet; else the
        // device's queue.
        cable.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(dctcp ? "1p" : queue));
        NetDeviceContainer d = cable.Install(nodes.Get(l.a), nodes.Get(l.b));
        if (dctcp) {
            control = TrafficControlHelper();
            control.SetRootQueueDisc("ns3::RedQueueDisc", "MinTh", DoubleValue(mark), "MaxTh", DoubleValue(mark),
                                     "MaxSize", QueueSizeValue(QueueSize(queue)), "UseEcn", BooleanValue(true),
                                     "UseHardDrop", BooleanValue(false), "QW", DoubleValue(1.0), "Gentle",
                                     BooleanValue(false), "MeanPktSize", UintegerValue(mss + 54), "LinkBandwidth",
                                     DataRateValue(rate), "LinkDelay", TimeValue(PicoSeconds(l.delay)));
            QueueDiscContainer q = control.Install(d);
            for (uint32_t k = 0; k < 2; ++k) q.Get(k)->TraceConnectWithoutContext("Drop", MakeCallback(&DropItem));
        }
        Ipv4InterfaceContainer i = addresses.Assign(d);
        if (!dctcp) control.Uninstall(d);
        addresses.NewNetwork();
        interfaces[{l.a, l.b}] = i.Get(0).second;
        interfaces[{l.b, l.a}] = i.Get(1).second;
        for (uint32_t k = 0; k < 2; ++k) {
            d.Get(k)->TraceConnectWithoutContext("PhyRxEnd", MakeCallback(&Arrive));
            auto device = DynamicCast<PointToPointNetDevice>(d.Get(k));
            if (!dctcp) device->GetQueue()->TraceConnectWithoutContext("Drop", MakeCallback(&Drop));
        }
    }

    // Routes go by the destination. So that data and acknowledgements that end at one host can take paths of their
    // own, each flow's data goes to an address of its own; acknowledgements go to that of the sender's link.
    Ipv4StaticRoutingHelper statics;
    auto towards = [&](const std::vector<uint32_t>& path) { // the interface where a path ends
        return interfaces.at({path.back(), path[path.size() - 2]});
    };
    auto follow = [&](const std::vector<uint32_t>& path, Ipv4Address to) {
        for (size_t k = 0; k + 1 < path.size(); ++k)
            statics.GetStaticRouting(nodes.Get(path[k])->GetObject<Ipv4>())
                ->AddHostRouteTo(to, interfaces.at({path[k], path[k + 1]}));
    };
    std::set<uint32_t> senders;
    for (uint32_t i = 0; i < flows.size(); ++i) {
        const Flow& f = flows[i];
        if (!senders.insert(f.data.front()).second) Fail("two flows of one sender: their acknowledgements share a path");
        const Ipv4Address receiver((172u << 24 | 16u << 16) + 4 * i + 1); // in a network of four addresses
        nodes.Get(f.data.back())->GetObject<Ipv4>()->AddAddress(towards(f.data),
                                                                Ipv4InterfaceAddress(receiver, Ipv4Mask("/30")));
        follow(f.data, receiver);
        follow(f.acks, nodes.Get(f.acks.back())->GetObject<Ipv4>()->GetAddress(towards(f.acks), 0).GetLocal());
        const uint16_t port = 5000 + i % 50000;
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(receiver, port));
        ApplicationContainer a = sink.Install(nodes.Get(f.data.back()));
        a.Start(Seconds(0));
        a.Get(0)->TraceConnectWithoutContext("Rx", MakeBoundCallback(&Got, i));
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(receiver, port));
        bulk.SetAttribute("MaxBytes", UintegerValue(f.bytes));
        bulk.SetAttribute("SendSize", UintegerValue(64 * mss));
        bulk.Install(nodes.Get(f.data.front())).Start(Seconds(0));
    }

    const double before = Cpu();
    Simulator::Stop(Seconds(100));
    Simulator::Run();
    const double spent = Cpu() - before;
    for (size_t i = 0; i < flows.size(); ++i) std::cout << "flow " << i << " " << flows[i].done << "\n";
    std::cout << "cpu_s " << spent << "\nset_up_s " << before << "\nhops " << hops << "\nevents "
              << Simulator::GetEventCount() << "\ndrops " << drops << std::endl;
    Simulator::Destroy();
    return 0;
}
