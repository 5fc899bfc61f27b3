// A client of Qt keychain: what owncloud, Nextcloud and Quassel do. Prints each result.
#include <QCoreApplication>
#include <QEventLoop>
#include <QTextStream>
#include <qt5keychain/keychain.h>

using namespace QKeychain;

static QString finished(Job &job) {
    QEventLoop loop;
    job.setAutoDelete(false);
    QObject::connect(&job, &Job::finished, &loop, &QEventLoop::quit);
    job.start();
    loop.exec();
    return QString::number(job.error());
}

int main(int count, char **arguments) {
    QCoreApplication application(count, arguments);
    QTextStream out(stdout);
    WritePasswordJob text("service");
    text.setKey("key");
    text.setTextData("first");
    out << "write " << finished(text) << "\n";
    ReadPasswordJob read("service");
    read.setKey("key");
    out << "read " << finished(read) << " " << read.binaryData().toHex() << "\n";
    WritePasswordJob binary("service");
    binary.setKey("bytes");
    binary.setBinaryData(QByteArray("a\0\n\xff", 4));
    out << "write " << finished(binary) << "\n";
    ReadPasswordJob bytes("service");
    bytes.setKey("bytes");
    out << "read " << finished(bytes) << " " << bytes.binaryData().toHex() << "\n";
    DeletePasswordJob remove("service");
    remove.setKey("key");
    out << "delete " << finished(remove) << "\n";
    ReadPasswordJob gone("service");
    gone.setKey("key");
    out << "read " << finished(gone) << "\n";
    return 0;
}
