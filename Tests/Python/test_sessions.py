"""Sessions, with a server that is a function."""
import select
import urllib.parse

import tokenkeep
from case import PATIENCE, StoreCase

ANSWER = '{"access_token": "token %d", "token_type": "Bearer", "expires_in": %d, "refresh_token": "refresh %d", "scope": "a b"}'


class Server:
    """Answers with the next tokens."""

    def __init__(self):
        self.requests = []

    def __call__(self, request):
        self.requests.append(request)
        number = len(self.requests)
        return tokenkeep.Response(200, ANSWER % (number, 3600, number), {"Content-Type": "application/json"})


class SessionTests(StoreCase):
    def setUp(self):
        super().setUp()
        self.server, self.store = Server(), self.open()

    def session(self, account="ann", **options):
        session = self.store.session(
            "example.com", account, refresh_url="https://example.com/token", client_id="tests", timeout=PATIENCE,
            **{"http": self.server, **options})
        self.addCleanup(session.close)
        return session

    def begun(self, seconds=3600, **options):
        session = self.session(**options)
        session.begin(ANSWER % (0, seconds, 0))
        return session

    def test_a_token_is_returned_and_renewed(self):
        session = self.begun()
        with session.token() as token:
            self.assertEqual((token.value, token.type, token.scope, token.generation, token.is_short), ("token 0", "Bearer", "a b", 1, False))
            self.assertNotIn("token 0", repr(token))
        with self.assertRaises(ValueError):
            token.value  # pylint: disable=pointless-statement
        with session.refresh() as renewed:
            self.assertEqual(renewed.value, "token 1")
        request = self.server.requests[0]
        self.assertEqual(
            (request.purpose, request.service, request.method, request.url),
            (tokenkeep.Purpose.REFRESH, "example.com", "POST", "https://example.com/token"))
        self.assertEqual(
            urllib.parse.parse_qs(request.body.decode()),
            {"grant_type": ["refresh_token"], "refresh_token": ["refresh 0"], "client_id": ["tests"]})
        self.assertEqual(request.token, "refresh 0")
        self.assertIn(("Accept", "application/json"), request.headers)
        self.assertNotIn("refresh 0", repr(request))

    def test_a_rejected_token_is_replaced(self):
        session = self.begun()
        with session.token() as refused, session.rejected(refused) as token:
            self.assertEqual(token.value, "token 1")

    def test_a_token_for_a_resource_and_a_scope(self):
        session = self.begun()
        with session.token(resource="https://api.example.com", scope="a") as token:
            self.assertEqual(token.value, "token 1")
        body = urllib.parse.parse_qs(self.server.requests[0].body.decode())
        self.assertEqual((body["resource"], body["scope"]), (["https://api.example.com"], ["a"]))

    def test_an_exception_of_the_function_comes_through(self):
        def fail(_):
            raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            self.begun(http=fail).refresh()

    def test_a_request_that_was_not_sent_is_unavailable_and_no_end(self):
        def fail(_):
            raise tokenkeep.Unavailable("no network")

        session = self.begun(http=fail)
        with self.assertRaises(tokenkeep.Unavailable):
            session.refresh()
        self.assertEqual(session.state().state, tokenkeep.State.USER)
        with self.session() as other:
            self.assertEqual(other.refresh().value, "token 1")

    def test_states_changes_and_lists(self):
        session = self.session()
        self.assertEqual(session.state().state, tokenkeep.State.SIGNED_OUT)
        self.assertEqual(session.next().state, tokenkeep.State.SIGNED_OUT)
        self.assertIsNone(session.next())
        with self.session() as other:
            other.begin(ANSWER % (0, 3600, 0))
        self.assertTrue(select.select([session], [], [], PATIENCE)[0])
        self.assertEqual(session.next().state, tokenkeep.State.USER)
        self.begun(account="bob")
        infos = self.store.sessions("example.com")
        self.assertEqual([(info.account, info.is_active, info.can_renew) for info in infos], [("ann", True, True), ("bob", False, True)])
        self.assertIsNone(infos.problem)
        self.store.switch_session("example.com", "bob")
        with self.store.session("example.com") as active:
            self.assertEqual(active.state().account, "bob")

    def test_profile_hydrate_and_step(self):
        session = self.session()
        session.hydrate("access", "refresh", 3600)
        with self.assertRaises(tokenkeep.NotFound):
            session.profile()
        session.set_profile({"name": "Änn"})
        self.assertEqual(session.profile(), {"name": "Änn"})
        self.assertEqual(session.token().value, "access")
        self.assertGreater(session.step(), 0)
        with self.assertRaises(tokenkeep.Invalid):
            session.extend(1)
        with self.assertRaises(tokenkeep.Invalid):
            session.token(2**32)

    def test_a_logout_runs_hooks_and_revokes(self):
        session, ended = self.begun(), []
        session.on_end("files", lambda *arguments: ended.append(arguments), 2)
        session.on_end("fails", lambda *_: 1 // 0, 1)
        self.assertEqual(
            session.end(), [("fails", tokenkeep.Result.FAILED), ("files", tokenkeep.Result.DONE), ("revocation", tokenkeep.Result.DONE)])
        self.assertEqual(ended, [("example.com", "ann", tokenkeep.Reason.LOGOUT)])
        self.assertEqual(self.server.requests[-1].purpose, tokenkeep.Purpose.REVOKE)
        with self.assertRaises(tokenkeep.NotFound):
            session.token()

    def test_a_token_that_waits_is_revoked_later(self):
        def fail(_):
            raise tokenkeep.Unavailable("no network")

        with self.begun(http=fail) as session:
            self.assertEqual(session.end(), [("revocation", tokenkeep.Result.QUEUED)])
        session = self.session()
        self.assertEqual(self.store.flush_sessions(), (1, 0))
        self.assertEqual(self.server.requests[-1].token, "refresh 0")

    def test_a_session_outlives_its_store_and_needs_a_provider_to_sign_in(self):
        session = self.begun()
        with self.assertRaises(tokenkeep.NotFound):
            self.store.login("example.com", provider="nobody", show=lambda step: None)
        self.store.close()
        self.assertEqual(session.refresh().value, "token 1")

    def test_a_claim_is_read(self):
        token = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4ifQ."
        self.assertEqual(tokenkeep.jwt_claim_unverified(token, "sub"), "ann")
        with self.assertRaises(tokenkeep.NotFound):
            tokenkeep.jwt_claim_unverified(token, "iss")
        with self.assertRaises(tokenkeep.Unsupported):
            tokenkeep.jwt_claim_unverified("opaque", "sub")
