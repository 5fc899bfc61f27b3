"""Three members: the leader dies, in the middle of an order too; members hang, one and two."""
from fleet_parts import Refusal, Relay, wait_until

ORDER = ["sign-out", "api.example.com", "ann", "--device", "laptop"]


def fleet(place, server, authority=None):
    """A desk, which orders, and a laptop that is signed in, both with all three endpoints."""
    cluster = place.cluster(authority)
    desk, laptop = place.device("desk", server), place.device("laptop", server)
    endpoints = [part for one in cluster.members for part in ("--endpoint", one.url)]
    trust = ["--ca", authority.file] if authority else []
    desk.fleet("init", "home", *endpoints, *trust, "--name", "desk", "--person", "ann")
    laptop.join(desk)
    laptop.sign_in(server)
    laptop.fleet("run", "--once")
    return cluster, desk, laptop


def is_published(desk):
    return ("laptop", "api.example.com", "ann") in desk.sessions()


def test_orders_are_given_and_obeyed_after_the_leader_was_killed(place, server):
    cluster, desk, laptop = fleet(place, server)
    laptop.start()
    wait_until(lambda: is_published(desk), "the publication")
    wait_until(cluster.leader, "a leader").kill()
    desk.fleet(*ORDER, "--wait", "200s")
    assert laptop.state() == ("signed-out", "remote")


def test_a_change_during_an_election_is_sent_again(place, server):
    etcd, desk, laptop = place.etcd(), place.device("desk", server), place.device("laptop", server)
    desk.init(etcd)
    laptop.join(desk)
    refused = []

    def elect(_, path, is_answered):
        # The change is made, or is not: each member answers so.
        if path == "/v3/kv/txn" and is_answered == is_made and not refused:
            refused.append(path)
            raise Refusal(503, "etcdserver: leader changed")

    relay = Relay(etcd, elect)
    desk.use(relay.url)
    for is_made in (False, True):
        laptop.sign_in(server)
        laptop.fleet("run", "--once")
        desk.fleet(*ORDER)
        assert refused
        refused.clear()
        laptop.fleet("run", "--once")
        assert laptop.state() == ("signed-out", "remote")
    relay.close()


def test_an_order_outlives_its_leader(place, server):
    cluster, desk, laptop = fleet(place, server)
    leader = wait_until(cluster.leader, "a leader")
    others = [one.url for one in cluster.members if one is not leader]
    lost = []

    def lose(_, path, is_answered):
        # The leader hangs, or dies, when the order is on its way, or when its answer is.
        if not lost and path == "/v3/kv/txn" and not is_answered:
            lost.append(path)
            leader.kill()

    relay = Relay(leader, lose)
    desk.use(relay.url, *others)
    desk.fleet(*ORDER)
    assert lost, "the order did not go to the leader"
    laptop.fleet("run", "--once")
    assert laptop.state() == ("signed-out", "remote")
    relay.close()


def test_clients_leave_a_member_that_hangs(place, server):
    cluster, desk, laptop = fleet(place, server, place.authority())
    hung, other = cluster.followers()
    for device in (desk, laptop):
        device.use(hung.url, other.url, wait_until(cluster.leader, "a leader").url)
    laptop.start()
    wait_until(lambda: is_published(desk), "the publication")
    hung.freeze()
    # The desk's calls end by their deadlines. The laptop's watch of the silent member is asked whether it is there.
    desk.fleet(*ORDER, "--wait", "200s")
    assert laptop.state() == ("signed-out", "remote")
    hung.thaw()


def test_no_quorum_is_an_outage(place, server):
    cluster, desk, laptop = fleet(place, server)
    assert is_published(desk)
    hung = cluster.followers()
    leader = wait_until(cluster.leader, "a leader")
    tried = []

    def hang(_, path, is_answered):
        # The quorum is lost after the order's lists, before it is written.
        if path == "/v3/kv/txn" and not is_answered:
            tried.append(path)
            for one in hung:
                one.freeze()

    relay = Relay(leader, hang)
    desk.use(relay.url)
    desk.fleet(*ORDER, check=4)
    assert tried, "the order was not sent"
    desk.use(*(one.url for one in cluster.members))
    relay.close()
    desk.fleet("list", check=4)
    assert "laptop" in desk.fleet("list", "--cached").stdout
    desk.fleet(*ORDER, check=4)
    assert laptop.state()[0] == "user"
    for one in hung:
        one.thaw()
    wait_until(lambda: desk.fleet(*ORDER, check=None).returncode == 0, "the quorum")
    laptop.fleet("run", "--once")
    assert laptop.state() == ("signed-out", "remote")
