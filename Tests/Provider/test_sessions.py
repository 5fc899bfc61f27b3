"""Encrypted sessions: every client agrees with the provider on a key, whatever zeros its public key begins with."""
import hashlib
import hmac
import os
import unittest

from client import ITEM, ROOT, SERVICE
from test_interface import Case

SESSIONS = int(os.environ.get("SESSIONS", "64"))
ALGORITHM = "dh-ietf1024-sha256-aes128-cbc-pkcs7"
PRIME = int("FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD"
            "EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED"
            "EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE65381FFFFFFFFFFFFFFFF", 16)


def decrypted(key, parameters, value):
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    decryptor = Cipher(algorithms.AES(key), modes.CBC(parameters)).decryptor()
    text = decryptor.update(value) + decryptor.finalize()
    return text[:-text[-1]]


class Agreements(Case):
    def agree(self, client, secret):
        """Opens a session, with a public key without leading zeros. Returns its path and key."""
        ours = pow(2, secret, PRIME)
        (_, theirs), path = client.call(
            ROOT, SERVICE, "OpenSession", "sv", ALGORITHM, ("ay", ours.to_bytes((ours.bit_length() + 7) // 8, "big")))
        self.assertEqual(len(theirs), 128)
        shared = pow(int.from_bytes(bytes(theirs), "big"), secret, PRIME).to_bytes(128, "big")
        extracted = hmac.new(bytes(32), shared, hashlib.sha256).digest()
        return path, hmac.new(extracted, b"\1", hashlib.sha256).digest()[:16]

    def check(self, secrets):
        """GetSecret in a session of each secret key. At most 64 sessions of one client."""
        item = self.client.create({"a": "1"}, b"the secret")
        for start in range(0, len(secrets), 64):
            client = self.connect()
            for secret in secrets[start:start + 64]:
                path, key = self.agree(client, secret)
                _, parameters, value, _ = client.call(item, ITEM, "GetSecret", "o", path)
                self.assertEqual(decrypted(key, bytes(parameters), bytes(value)), b"the secret", secret)
            client.close()

    def test_public_keys_that_are_shorter(self):
        secrets, secret = [], 2
        while len(secrets) < 4:
            secret += 1
            if pow(2, secret << 900, PRIME).bit_length() <= 1016:
                secrets.append(secret << 900)
        self.check([1, 2, 7, 8, *secrets])

    def test_every_session_of_a_client_that_cuts_leading_zeros(self):
        self.check([int.from_bytes(os.urandom(128), "big") for _ in range(SESSIONS)])

    def test_every_session_of_secretstorage(self):
        text = """if True:
            import secretstorage
            for _ in range({} // 60 + 1):
                connection = secretstorage.dbus_init()
                for _ in range(60):
                    item = next(secretstorage.search_items(connection, {{'a': '1'}}))
                    assert item.get_secret() == b'the secret'
                connection.close()"""
        self.client.create({"a": "1"}, b"the secret")
        self.world.run("/usr/bin/python3", "-c", text.format(SESSIONS))


if __name__ == "__main__":
    unittest.main()
